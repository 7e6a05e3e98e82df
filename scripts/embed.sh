#!/bin/sh
# Print C that holds each file named as a string, and a table of them (base/embedded.h).
echo '#include "base/embedded.h"'
echo 'const struct embedded_file embedded_files[] = {'
for file; do
    printf '    {"%s",\n' "$(basename "$file")"
    # Every line becomes one string literal; only backslash and quote need care.
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/     "/' -e 's/$/\\n"/' "$file"
    echo '    },'
done
echo '    {0, 0},'
echo '};'
