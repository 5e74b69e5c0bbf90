<?php
namespace App;
use App\Net\Wire as W;
class Client extends Base {
  private W $wire;
  function chat(string $t) { $this->wire->send($t); self::help(); parent::close(); run(); }
  static function help() {}
}
class Base { function close() {} }
function run() { $c = new Client(); $c->chat('x'); }
