#include "util.h"
static int inner(int a) { return a; }
int add(int a, int b) { return inner(a) + b; }
