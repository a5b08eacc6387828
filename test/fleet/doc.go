// Package fleet makes many hosts in one process: each has an SSH server on an
// address of loopback, runs the real agent, and lives below a directory of its
// own. A Controller drives them the way deployer drives real hosts: inventory,
// compiled playbook, scheduler, SSH, agent. Only what hosts do not have is made
// up: there is no systemd, no package manager and no program to be sent.
//
// Hosts can be lost in the ways in which real ones are: see Host.Stop,
// Host.Cut and Host.Freeze.
package fleet
