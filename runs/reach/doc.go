// Package reach connects to the hosts of a project: it finds the way to each in
// the inventory and the client configuration of OpenSSH, has the passwords and
// passphrases that are needed, and starts the agent.
package reach
