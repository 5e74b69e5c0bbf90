#include "shape.hpp"
namespace geo { void Shape::draw() { area(); this->area(); } }
