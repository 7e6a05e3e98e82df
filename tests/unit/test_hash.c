#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

// FIPS 180-4 examples and NIST's test vectors.
Test(hash, sha256_gives_the_published_digests) {
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert_str_eq(hash_text(&a, rows[i].text), rows[i].digest);
    arena_reset(&a);
}

Test(hash, sha256_of_a_million_letters_in_pieces) {
    struct sha256 h;
    sha256_init(&h);
    char piece[997];
    memset(piece, 'a', sizeof piece);
    for (size_t left = 1000000; left > 0;) {
        size_t n = left < sizeof piece ? left : sizeof piece;
        sha256_add(&h, piece, n);
        left -= n;
    }
    char hex[SHA256_HEX];
    sha256_hex(&h, hex);
    cr_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void hash_two(const char *one, const char *two, char hex[SHA256_HEX]) {
    struct sha256 h;
    sha256_init(&h);
    sha256_add_text(&h, one);
    sha256_add_text(&h, two);
    sha256_hex(&h, hex);
}

Test(hash, sha256_fields_do_not_run_together) {
    char a[SHA256_HEX], b[SHA256_HEX];
    hash_two("ab", "c", a);
    hash_two("a", "bc", b);
    cr_assert_str_neq(a, b);
}

Test(hash, bytes_sees_every_bit_at_every_length) {
    unsigned char data[200];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 37);
    for (size_t len = 0; len < sizeof data; len++) {
        uint64_t whole = hash_bytes(data, len, 1);
        cr_assert_neq(whole, hash_bytes(data, len, 2), "the seed matters");
        cr_assert_neq(whole, hash_bytes(data, len + 1, 1), "the length matters");
        for (size_t bit = 0; bit < 8 * len; bit++) {
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            cr_assert_neq(whole, hash_bytes(data, len, 1), "bit %zu of %zu bytes", bit, len);
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
    }
}

Test(hash, bytes_sees_order_and_trailing_zeros) {
    char zeros[256] = {0};
    for (size_t n = 0; n < 255; n++)
        cr_assert_neq(hash_bytes(zeros, n, 9), hash_bytes(zeros, n + 1, 9));
    char a[128] = {0}, b[128] = {0};
    a[0] = b[64] = 1;  // the same words in another stripe
    cr_assert_neq(hash_bytes(a, 128, 9), hash_bytes(b, 128, 9));
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    a[0] = b[16] = 1;  // in another lane
    cr_assert_neq(hash_bytes(a, 128, 9), hash_bytes(b, 128, 9));
}

Test(hash, bytes_does_not_depend_on_alignment) {
    char data[400];
    for (int i = 0; i < 400; i++)
        data[i] = (char)(i % 100);
    for (int shift = 1; shift < 16; shift++) {
        char moved[300];
        memcpy(moved + shift, data, 200);
        cr_assert_eq(hash_bytes(data, 200, 5), hash_bytes(moved + shift, 200, 5));
    }
}
