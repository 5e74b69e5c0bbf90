require_relative 'wire'
class Base
  def close; end
end
class Client < Base
  def initialize
    @wire = Wire.new
  end
  def chat(t)
    close()
    @wire.send_text(t)
  end
end
