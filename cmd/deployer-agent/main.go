// Command deployer-agent is the program that deployer sends to hosts and starts there
// over SSH; users never start it. In the pods of deployer verify the same program
// tests the network, as "deployer-agent probe".
package main

import (
	"os"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/probe"
	"deployer/tasks"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "probe" {
		os.Exit(probe.Main(args[1:], os.Stderr))
	}
	os.Exit(agent.Main(args, os.Stdin, os.Stdout, os.Stderr, engine.NewRegistry(tasks.Modules())))
}
