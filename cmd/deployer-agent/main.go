// Command deployer-agent is the program that deployer sends to hosts and starts there
// over SSH; users never start it. In the pods of deployer verify the same program
// tests the network, as "deployer-agent probe", and a timer of nodes renews their certificates
// with "deployer-agent certificates".
package main

import (
	"os"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/probe"
	"deployer/keeper/noderenewal"
	"deployer/tasks"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "probe" {
		os.Exit(probe.Main(args[1:], os.Stderr))
	}
	if len(args) > 0 && args[0] == "certificates" {
		os.Exit(noderenewal.Main(args[1:], agent.DefaultStateDir, os.Stdout, os.Stderr))
	}
	os.Exit(agent.Main(args, os.Stdin, os.Stdout, os.Stderr, engine.NewRegistry(tasks.Modules())))
}
