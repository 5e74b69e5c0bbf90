source ./lib.sh
main() { prepare; echo done; }
main
