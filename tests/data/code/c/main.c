#include "lib/util.h"
#include <stdio.h>
int main(void) { printf("%d", add(1, 2)); return 0; }
