package program

// Localhost is the name by which delegate_to means the machine on which deployer runs.
const Localhost = "localhost"
