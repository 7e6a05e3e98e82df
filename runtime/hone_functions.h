// Part of hone_math.h, once for each width of vectors (hence no guard): the functions of
// mathematics.
//
// Errors, measured against float64 by the unit tests over the whole range: exp 1 ulp,
// log 1 ulp, erf 1.5 ulp, tanh 1.5 ulp (2 without fused multiply-add), rsqrt 1 ulp. NaN and
// infinities come out as in the C library (but gelu_quick of -inf is 0).

// Sixteen lanes can look up a table of sixteen, by the lowest four bits of an index.
#if HONE_LANES == 16 && defined(__AVX512F__)
#define HONE_HAS_TABLES 1
HONE_INLINE f32x16 hone_lookup16(f32x16 table, i32x16 index) {
#if defined(__clang__)
    return __builtin_ia32_permvarsf512(table, index);
#else
    return __builtin_ia32_permvarsf512_mask(table, index, table, -1);
#endif
}

// a where x is y, else b.
HONE_INLINE f32x16 hone_pick16(f32x16 x, f32x16 y, f32x16 a, f32x16 b) {
#if defined(__clang__)
    return hone_select16(x == y, a, b);
#else
    return __builtin_ia32_blendmps_512_mask(b, a, __builtin_ia32_cmpps512_mask(x, y, 0, -1, 4));
#endif
}
#else
#define HONE_HAS_TABLES 0
#endif

HONE_INLINE HONE_F HONE_(sqrt)(HONE_F x) {
#if HONE_LANES == 16 && defined(__AVX512F__) && defined(__clang__)
    return __builtin_ia32_sqrtps512(x, 4);
#elif HONE_LANES == 16 && defined(__AVX512F__)
    return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
#elif HONE_LANES == 8 && defined(__AVX__)
    return __builtin_ia32_sqrtps256(x);
#elif HONE_LANES == 4 && defined(__SSE__)
    return __builtin_ia32_sqrtps(x);
#else
    for (int i = 0; i < HONE_LANES; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

HONE_INLINE HONE_F HONE_(rsqrt)(HONE_F x) {
    return 1.0f / HONE_(sqrt)(x);
}

// p * 2^n for a whole n, right also where the result overflows or is denormal.
HONE_INLINE HONE_F HONE_(scale)(HONE_F p, HONE_F n) {
#if HONE_LANES == 16 && defined(__AVX512F__)
    return __builtin_ia32_scalefps512_mask(p, n, p, -1, 4);
#elif HONE_LANES == 8 && defined(__AVX512VL__)
    return __builtin_ia32_scalefps256_mask(p, n, p, -1);
#elif HONE_LANES == 4 && defined(__AVX512VL__)
    return __builtin_ia32_scalefps128_mask(p, n, p, -1);
#else
    // In two factors, since 2^n itself may be out of range.
    HONE_I i = (HONE_I)(n + HONE_ROUND) - HONE_ROUND_BITS;
    HONE_I half = i >> 1;
    HONE_F x = (HONE_F)((half + 127) << 23), y = (HONE_F)((i - half + 127) << 23);
    return p * x * y;
#endif
}

#if HONE_HAS_TABLES
// e^x = 2^(n / 16) e^r, |r| <= ln 2 / 32: a short polynomial and a table of 2^(i / 16).
// Adding 1.5 * 2^19 rounds to sixteenths; scaling takes the whole part of n / 16.
HONE_INLINE f32x16 hone_exp16(f32x16 x) {
    f32x16 c = hone_larger16(hone_all16(-104.0f), x);
    c = hone_smaller16(hone_all16(89.0f), c);
    f32x16 t = c * 1.44269504f + 786432.0f;
    f32x16 n = t - 786432.0f;
    // ln 2 in two parts. n has 12 bits at most and the first part 12, so that their product is
    // exact.
    f32x16 r = c - n * 0.693115234f;
    r = r - n * 3.19461833e-5f;
    f32x16 power = hone_lookup16((f32x16){1.0f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f,
                                          1.24185777f, 1.29683959f, 1.35425556f, 1.41421354f,
                                          1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f,
                                          1.75625217f, 1.8340081f, 1.91520655f},
                                 (i32x16)t);
    f32x16 p = r * 0.166670591f + 0.500016212f;
    p = p * r + 1.0f;
    p = power * r * p + power;
    return hone_scale16(p, n);
}
#else
// e^x = 2^n e^r, |r| <= ln 2 / 2.
HONE_INLINE HONE_F HONE_(exp)(HONE_F x) {
    // Below -104 the result is 0, above 89 it is infinite. NaN passes through both.
    HONE_F c = HONE_(larger)(HONE_(all)(-104.0f), x);
    c = HONE_(smaller)(HONE_(all)(89.0f), c);
    HONE_F n = c * 1.44269504f + HONE_ROUND;
    n = n - HONE_ROUND;
    // ln 2 in two parts, the first with 15 zeros at its end.
    HONE_F r = c - n * 0.693145752f;
    r = r - n * 1.42860677e-6f;
    HONE_F p = r * 1.38143206e-3f + 8.36885069e-3f;
    p = p * r + 4.16684002e-2f;
    p = p * r + 0.166665196f;
    p = p * r + 0.49999994f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return HONE_(scale)(p, n);
}
#endif

// The same in eight instructions in the place of thirteen, off by 3 + 1.2 |x| units in the last
// place at most: 2^y for y = x / ln 2, whose whole part scaling takes, and a polynomial of what is
// left of it. Of infinities nothing is left, by definition of the instruction.
HONE_INLINE HONE_F HONE_(exp_quick)(HONE_F x) {
#if HONE_LANES == 16 && defined(__AVX512F__) && defined(__AVX512DQ__)
    f32x16 y = x * 1.44269504f, f;
    __asm__("vreduceps $9, %1, %0" : "=v"(f) : "v"(y));  // y less the largest whole number below
    f32x16 p = f * 1.86713075e-3f + 9.01702885e-3f;
    p = p * f + 5.57999164e-2f;
    p = p * f + 0.240164444f;
    p = p * f + 0.693151295f;
    return hone_scale16(p * f + 1.0f, y);
#else
    return HONE_(exp)(x);
#endif
}

#if HONE_HAS_TABLES
HONE_INLINE f32x16 hone_fused16(f32x16 a, f32x16 b, f32x16 c) {
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
}

// x = 2^e m, m from 3/4 to 3/2, and log m = log(m c) - log c for a c of sixteen that brings it near
// 1. These are chosen so that -log c is a multiple of 2^-17 to ten digits: t - s is then exact, and
// what rounding took from s is known. e is infinite for 0 and infinity, m is no number below 0.
HONE_INLINE f32x16 hone_log16(f32x16 x) {
    f32x16 m = __builtin_ia32_getmantps512_mask(x, 11, x, -1, 4), ln2 = hone_all16(0.693147182f);
    f32x16 e =
        __builtin_ia32_getexpps512_mask(x, x, -1, 4) - __builtin_ia32_getexpps512_mask(m, m, -1, 4);
    i32x16 i = (i32x16)m >> 19;
    f32x16 c = hone_lookup16((f32x16){1.0f, 0.91786164f, 0.870115221f, 0.824248612f, 0.780305505f,
                                      0.747486889f, 0.710872054f, 0.679261386f, 1.30205858f,
                                      1.25771153f, 1.20997238f, 1.16086137f, 1.1174376f,
                                      1.08003759f, 1.04208302f, 1.0f},
                             i);
    f32x16 t = hone_lookup16((f32x16){0.0f, 0.0857086182f, 0.139129639f, 0.193283081f, 0.248069763f,
                                      0.291038513f, 0.341262817f, 0.386749268f, -0.263946533f,
                                      -0.229293823f, -0.190597534f, -0.149162292f, -0.111038208f,
                                      -0.0769958496f, -0.0412216187f, 0.0f},
                             i);
    f32x16 r = hone_fused16(m, c, hone_all16(-1.0f));
    f32x16 s = hone_fused16(e, ln2, t);
    f32x16 low = hone_fused16(e, ln2, t - s);
    f32x16 p = r * -0.16666667f + 0.2f;
    p = p * r - 0.25f;
    p = p * r + 0.33333334f;
    p = p * r - 0.5f;
    p = p * r * r + r;
    return hone_pick16(hone_abs16(s), hone_all16(__builtin_inff()), s, s + (p + low));
}
#else
// x = 2^e (1 + f), 1 + f between sqrt(1/2) and sqrt(2).
HONE_INLINE HONE_F HONE_(log)(HONE_F x) {
    HONE_I tiny = x < 1.17549435e-38f;
    HONE_F scaled = HONE_(select)(tiny, x * 8388608.0f, x);
    HONE_I bits = (HONE_I)scaled - 0x3f3504f3;
    HONE_I power = (bits >> 23) - (tiny & 23);
    HONE_F f = (HONE_F)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    HONE_F e = (HONE_F)(power + HONE_ROUND_BITS) - HONE_ROUND;
    HONE_F p = f * -7.63449445e-2f + 0.12761575f;
    p = p * f - 0.131601825f;
    p = p * f + 0.142017588f;
    p = p * f - 0.166233569f;
    p = p * f + 0.200012267f;
    p = p * f - 0.250008196f;
    p = p * f + 0.333333313f;
    HONE_F f2 = f * f;
    HONE_F y = f2 * f * p + e * 1.42860677e-6f;
    y = y - 0.5f * f2;
    y = (f + y) + e * 0.693145752f;
    // 0 gives -inf, below that is nothing, inf stays inf, NaN stays NaN.
    y = HONE_(select)(x > 3.40282347e38f, x, y);
    y = HONE_(select)(x == 0.0f, HONE_(all)(-__builtin_inff()), y);
    return HONE_(select)(x >= 0.0f, y, HONE_(all)(__builtin_nanf("")) + x);
}
#endif

// e^z - 1 for -80 < z <= 0, right to the last bit also near 0; and what rounding took from it.
HONE_INLINE HONE_F HONE_(exp_less_one_parts)(HONE_F z, HONE_F *low) {
    HONE_F n = z * 1.44269504f + HONE_ROUND;
    HONE_F s = (HONE_F)(((HONE_I)n << 23) + 0x3f800000);
    n = n - HONE_ROUND;
    HONE_F r = z - n * 0.693147182f;
    HONE_F p = r * 1.38143206e-3f + 8.36885069e-3f;
    p = p * r + 4.16684002e-2f;
    p = p * r + 0.166665196f;
    p = p * r + 0.49999994f;
    p = p * (r * r) + r;
    HONE_F e = p * s + (s - 1.0f);
    *low = p * s + ((s - 1.0f) - e);
    return e;
}

HONE_INLINE HONE_F HONE_(exp_less_one)(HONE_F z) {
    HONE_F low;
    return HONE_(exp_less_one_parts)(z, &low);
}

#if HONE_HAS_TABLES
// erf around the nearest multiple of 0.26, to the fifth power of the distance; around 0 as
// d + d (...), which rounds once. The last value is 1 and not the nearest float, 1 - 2^-24: so
// that beyond 3.95 the result is exactly 1, as it must be.
HONE_INLINE f32x16 hone_erf16(f32x16 x) {
    f32x16 a = hone_smaller16(hone_all16(3.95f), hone_abs16(x));
    f32x16 t = a * 3.84615385f + HONE_ROUND;
    f32x16 d = a - (t - HONE_ROUND) * 0.26f;
    i32x16 i = (i32x16)t;
    f32x16 c5 =
        hone_lookup16((f32x16){0.112158969f, 0.0784348845f, 0.00227698637f, -0.0569279343f,
                               -0.0671624839f, -0.0406317934f, -0.00849831104f, 0.00959390122f,
                               0.0128201293f, 0.00901090726f, 0.0045863539f, 0.00183680188f,
                               0.000599857362f, 0.000162834112f, 3.7174399e-5f, 7.19333002e-6f},
                      i);
    f32x16 c4 =
        hone_lookup16((f32x16){0.0f, 0.129879177f, 0.182272583f, 0.14177449f, 0.0557075329f,
                               -0.0165823903f, -0.0476193465f, -0.0450405404f, -0.0292496383f,
                               -0.0147319306f, -0.00602290686f, -0.00204457249f, -0.000583933783f,
                               -0.000141498153f, -2.92599743e-5f, -5.18490742e-6f},
                      i);
    f32x16 c3 =
        hone_lookup16((f32x16){-0.376122087f, -0.304036021f, -0.131812692f, 0.0443681814f,
                               0.148335084f, 0.165178731f, 0.127596572f, 0.0770716518f,
                               0.0380392335f, 0.0156742614f, 0.00545870513f, 0.00161919033f,
                               0.000411224581f, 8.97516584e-5f, 1.68801071e-5f, 2.74144463e-6f},
                      i);
    f32x16 c2 =
        hone_lookup16((f32x16){0.0f, -0.274195135f, -0.447731405f, -0.478984624f, -0.397884488f,
                               -0.27067396f, -0.154414609f, -0.0748126805f, -0.0310159009f,
                               -0.011056779f, -0.00340055185f, -0.000904427143f, -0.000208380981f,
                               -4.16463008e-5f, -7.22724826e-6f, -1.08993015e-6f},
                      i);
    f32x16 c1 = hone_lookup16(
        (f32x16){0.128379166f, 1.05462193f, 0.861037135f, 0.614087641f, 0.382579952f, 0.20820801f,
                 0.0989819616f, 0.0411053225f, 0.0149115743f, 0.00472533237f, 0.00130805129f,
                 0.000316301215f, 6.68129651e-5f, 1.23283444e-5f, 1.98716157e-6f, 2.79799167e-7f},
        i);
    f32x16 c0 = hone_lookup16((f32x16){0.0f, 0.286899716f, 0.5378986f, 0.73001039f, 0.858649909f,
                                       0.934007943f, 0.972628117f, 0.989943147f, 0.996734381f,
                                       0.999064565f, 0.999763966f, 0.999947608f, 0.999989748f,
                                       0.999998271f, 0.999999762f, 1.0f},
                              i);
    f32x16 y = c5 * d + c4;
    y = y * d + c3;
    y = y * d + c2;
    y = y * d + c1;
    y = y * d + hone_pick16(t, hone_all16(HONE_ROUND), d, c0);
    i32x16 sign = (i32x16)x & (-0x7fffffff - 1);
    return (f32x16)((i32x16)y | sign);
}
#else
// erf(a) = 1 - e^-(a + a Q(a)) for a >= 0: the logarithm of erfc is smooth, so that one
// polynomial does for the whole range, and nothing is lost near 0 or near 1.
HONE_INLINE HONE_F HONE_(erf)(HONE_F x) {
    HONE_F a = HONE_(smaller)(HONE_(all)(3.95f), HONE_(abs)(x));
    HONE_F q = a * -9.25622953e-6f + 0.000117640986f;
    q = q * a - 0.00063283596f;
    q = q * a + 0.00166702596f;
    q = q * a - 0.000160394848f;
    q = q * a - 0.0191530641f;
    q = q * a + 0.102777831f;
    q = q * a + 0.636619389f;
    q = q * a + 0.128379166f;
    HONE_F y = HONE_(abs)(HONE_(exp_less_one)(-(a * q + a)));
    HONE_I sign = (HONE_I)x & (-0x7fffffff - 1);
    return (HONE_F)((HONE_I)y | sign);
}
#endif

// tanh(a) = -e / (e + 2) with e = e^-2a - 1. Near 1 each of the three operations would lose half a
// bit: one step of Newton's with what e and d lost makes it one rounding.
HONE_INLINE HONE_F HONE_(tanh)(HONE_F x) {
    HONE_F a = HONE_(smaller)(HONE_(all)(10.0f), HONE_(abs)(x));
    HONE_F e_low;
    HONE_F e = HONE_(exp_less_one_parts)(-2.0f * a, &e_low);
    HONE_F d = e + 2.0f;
    HONE_F d_low = e - (d - 2.0f);
    HONE_F q = 1.0f / d;
    HONE_F y = -e * q;
    y = y - ((y * d + e) + (y * (d_low + e_low) + e_low)) * q;
    HONE_I sign = (HONE_I)x & (-0x7fffffff - 1);
    return (HONE_F)((HONE_I)HONE_(abs)(y) | sign);
}

#if HONE_HAS_TABLES
// Of two tables of sixteen, by the lowest five bits of an index.
HONE_INLINE f32x16 hone_lookup_long16(f32x16 low, f32x16 high, i32x16 index) {
#if defined(__clang__)
    return __builtin_ia32_vpermi2varps512(low, index, high);
#else
    return __builtin_ia32_vpermt2varps512_mask(index, low, high, -1);
#endif
}

// gelu(x) = max(x, 0) - |x| q(|x|), where q, the normal distribution beyond |x|, goes by the fourth
// power of the distance from the nearest multiple of 23/128. The last piece is 0: beyond 5.48 x or
// 0 comes out. Off by at most twice what honest f32 rounds there, where 16 times are admitted, and
// as many instructions as erf alone, without whose square root, product and sum it is computed.
HONE_INLINE f32x16 hone_gelu_quick16(f32x16 x) {
    f32x16 a = hone_smaller16(hone_all16(5.5703125f), hone_abs16(x));
    f32x16 t = a * 5.56521749f + HONE_ROUND;
    f32x16 d = a - (t - HONE_ROUND) * 0.1796875f;
    i32x16 i = (i32x16)t;
    f32x16 c4 = hone_lookup_long16(
        (f32x16){-0.00223545055f, -0.00870773103f, -0.0160514507f, -0.0209631249f, -0.0228849761f,
                 -0.021847602f, -0.018401457f, -0.0134351412f, -0.00794268865f, -0.00280746631f,
                 0.00134610955f, 0.00421066117f, 0.00577091938f, 0.00622337777f, 0.00587525312f,
                 0.00505264243f},
        (f32x16){0.00403596088f, 0.00302775949f, 0.00214816467f, 0.00144819473f, 0.000930787879f,
                 0.000571758486f, 0.000336304773f, 0.00018969462f, 0.000102729144f, 5.34649189e-05f,
                 2.6762611e-05f, 1.28932988e-05f, 5.9816789e-06f, 2.67373071e-06f, 1.15194337e-06f,
                 0.0f},
        i);
    f32x16 c3 = hone_lookup_long16(
        (f32x16){0.06666594f, 0.0632205829f, 0.0542117469f, 0.0407513976f, 0.0248204265f,
                 0.00858931895f, -0.0059878258f, -0.017486427f, -0.0251717288f, -0.0289942957f,
                 -0.0294524115f, -0.0273799468f, -0.0237234179f, -0.0193587616f, -0.0149752256f,
                 -0.0110299494f},
        (f32x16){-0.00775940157f, -0.00522553688f, -0.00337470626f, -0.0020928164f, -0.00124762498f,
                 -0.000715605565f, -0.000395195471f, -0.000210260987f, -0.000107828397f,
                 -5.33239217e-05f, -2.54381794e-05f, -1.17101945e-05f, -5.20328649e-06f,
                 -2.23220195e-06f, -9.2475284e-07f, 0.0f},
        i);
    f32x16 c2 = hone_lookup_long16(
        (f32x16){-5.63036838e-06f, 0.035268452f, 0.0672021136f, 0.0929861814f, 0.110733509f,
                 0.119698495f, 0.120267205f, 0.113749363f, 0.102040723f, 0.0872441605f,
                 0.0713315755f, 0.0559036471f, 0.0420699492f, 0.0304407272f, 0.0212001186f,
                 0.0142225577f},
        (f32x16){0.00919729751f, 0.00573615124f, 0.00345186051f, 0.0020050304f, 0.00112450542f,
                 0.000609105628f, 0.0003187244f, 0.000161145188f, 7.87363242e-05f, 3.71839742e-05f,
                 1.69753421e-05f, 7.49231185e-06f, 3.1973816e-06f, 1.31946001e-06f, 5.2657316e-07f,
                 0.0f},
        i);
    f32x16 c1 = hone_lookup_long16(
        (f32x16){-0.398942202f, -0.392553359f, -0.373994529f, -0.344992369f, -0.308128208f,
                 -0.266459435f, -0.223104537f, -0.180868685f, -0.141969815f, -0.107896239f,
                 -0.0793951973f, -0.0565665588f, -0.0390214026f, -0.0260629486f, -0.0168547295f,
                 -0.0105535248f},
        (f32x16){-0.00639809668f, -0.00375561905f, -0.00213446817f, -0.00117456005f,
                 -0.000625803776f, -0.000322833366f, -0.000161248608f, -7.79813563e-05f,
                 -3.65142841e-05f, -1.65543443e-05f, -7.26671806e-06f, -3.08845779e-06f,
                 -1.27093131e-06f, -5.06383401e-07f, -1.95350154e-07f, 0.0f},
        i);
    f32x16 c0 = hone_lookup_long16(
        (f32x16){0.5f, 0.428698957f, 0.359657288f, 0.294921875f, 0.236147478f, 0.184476182f,
                 0.140488982f, 0.104229786f, 0.0752879828f, 0.0529189073f, 0.0361777321f,
                 0.0240455531f, 0.0155320745f, 0.00974725001f, 0.00594107667f, 0.00351613224f},
        (f32x16){0.00202013738f, 0.00112647563f, 0.000609546376f, 0.000320009451f, 0.000162976299f,
                 8.0506783e-05f, 3.85685562e-05f, 1.79175531e-05f, 8.0709442e-06f, 3.52476582e-06f,
                 1.49231289e-06f, 6.12462998e-07f, 2.43646127e-07f, 9.39443723e-08f,
                 3.51065275e-08f, 0.0f},
        i);
    f32x16 q = c4 * d + c3;
    q = q * d + c2;
    q = q * d + c1;
    q = q * d + c0;
    return hone_larger16(hone_all16(0.0f), x) - a * q;
}
#else
// What wider vectors have a quicker form of.
HONE_INLINE HONE_F HONE_(gelu_quick)(HONE_F x) {
    return 0.5f * x * (1.0f + HONE_(erf)(x * 0.707106769f));
}
#endif

#undef HONE_HAS_TABLES
