package program

// Localhost is the name under which delegate_to means the machine that deployer
// runs on.
const Localhost = "localhost"
