#include "shape.hpp"
class Square : public geo::Shape {};
int main() { geo::Shape s; s.draw(); auto p = new Square(); p->area(); }
