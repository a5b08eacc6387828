// Package target connects to the hosts of a project. Targets come from the inventory
// and from OpenSSH's client configuration; Credentials are the passwords and the
// passphrases of keys; a Connector dials a target, becomes root and starts the agent.
package target
