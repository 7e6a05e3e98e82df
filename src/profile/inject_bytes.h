// The library of inject/, as bytes that the binary carries: it is written to a file before the
// driver shall load it, so that there is nothing to install besides hone.
#pragma once

extern const unsigned char inject_begin[], inject_end[];
