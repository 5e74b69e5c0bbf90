<?php
namespace App\Net;
class Wire { function send(string $t) {} }
