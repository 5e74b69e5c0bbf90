class Wire
  def send_text(t)
  end
end
