// Package fleet simulates many hosts in one process: each has an SSH server on an
// address of loopback, runs the real agent, and lives below a directory of its own. A
// Controller drives them the way deployer drives real hosts: inventory, compiled
// playbook, scheduler, SSH, agent. The hosts have no systemd and no package manager,
// and the controller does not send them the agent.
//
// Hosts can be lost in the ways in which real ones are: see Host.Stop,
// Host.Cut and Host.Freeze.
package fleet
