#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "build/scan.h"
#include "build/text.h"

Test(scan, refuses_files_by_any_spelling) {
    static const char *const sources[] = {
        "#include \"/etc/passwd\"\n",
        "#include <unistd.h>\n",
        "  #  include <sys/socket.h>\n",
        "#inc\\\nlude <pthread.h>\n",
        "#/**/include <pthread.h>\n",
        "%:include <pthread.h>\n",
        "#define F <math.h>\n#include F\n",
        "#include_next <math.h>\n",
        "#import <math.h>\n",
        "#embed \"x\"\n",
        "#line 3 \"y\"\n",
        "#if __has_include(\"/etc/shadow\")\n#endif\n",
        "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n",
        "asm(\".inc\" \"bin \\\"f\\\"\");\n",
        "asm(\".inc\\x62in f\");\n",
        "/* */ #include <pthread.h>\n",
        "#inc\\ \nlude <pthread.h>\n",
        "#inc\\\r\nlude <pthread.h>\n",
        "/\\\n* // */ #include <pthread.h>\n",
        "char *s = R\"(\" /* )\";\n#include <pthread.h>\n// */\n",
        "char *s = u8R\"x()x\";\n",
        "# 1 \"/etc/passwd\"\n",
        "asm(\".macro m a b\\n.\\\\a\\\\b f\\n.endm\\nm inc bin\");\n",
        "asm(\".INCBIN \\\"f\\\"\");\n",
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct arena a = {0};
        cr_expect(scan_source(&a, sources[i]), "%s", sources[i]);
        arena_reset(&a);
    }
}

Test(scan, lets_ordinary_sources_pass) {
    static const char *const sources[] = {
        "",
        "#include <math.h>\n#include \"hone_math.h\"\n",
        "// #include <pthread.h>\nint x;\n",
        "/* #include <pthread.h>\n#include <unistd.h> */ int x;\n",
        "const char *s = \"#include <pthread.h>\";\n",
        "const char c = '\"'; // #include\n",
        "__asm__ volatile(\"pause\");\n",
        "int incbin;\n",
        "const char *s = \"R\", *t = FOR\"x\";\n",
        "int x; // ends with a backslash \\\n#include <pthread.h>\n",
        "#pragma hone launch f grid(1) args(y)\n#define A(x) #x\n",
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct arena a = {0};
        const char *why = scan_source(&a, sources[i]);
        cr_expect(!why, "%s: %s", sources[i], why);
        arena_reset(&a);
    }
}

Test(scan, says_so_when_an_object_is_none) {
    struct arena a = {0};
    cr_expect(scan_object(&a, "", 0));
    char *junk = arena_alloc(&a, 4096);
    memset(junk, 0xff, 4096);
    memcpy(junk, "\177ELF\2", 5);
    cr_expect(scan_object(&a, junk, 4096));
    arena_reset(&a);
}

Test(text, drops_what_changes_how_the_rest_is_shown) {
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"plain\n\ttext", "plain\n\ttext"},
        {"\x1b[31mred\x1b[0m", "red"},
        {"a\x07"
         "b\r\n",
         "ab\n"},
        {"caf\xc3\xa9 \xe2\x80\x98x\xe2\x80\x99", "caf\xc3\xa9 \xe2\x80\x98x\xe2\x80\x99"},
        {"\xff\xc3", "??"},
        {"\xed\xa0\x80", "???"},
        {"\xe2\x80\xae"
         "abc",
         "abc"},
        {"\xc0\xaf", "??"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        cr_expect_str_eq(text_clean(&a, cases[i].in, strlen(cases[i].in)), cases[i].want);
        arena_reset(&a);
    }
}

Test(text, head_marks_what_it_leaves_out) {
    struct arena a = {0};
    cr_expect_str_eq(text_head(&a, "one\ntwo\n", 2, 100), "one\ntwo\n");
    cr_expect_str_eq(text_head(&a, "one\ntwo\nthree\n", 2, 100), "one\ntwo\n\n[...]");
    cr_expect_str_eq(text_head(&a, "onetwo", 2, 3), "one\n[...]");
    arena_reset(&a);
}
