// Command deployer installs and runs highly available Kubernetes on hosts that
// have an operating system and sshd, and runs playbooks of your own.
//
// Exit codes are part of its interface; see exit.go.
package main

import (
	"context"
	"os"
)

// version is set by the Makefile.
var version = "devel"

func main() {
	stop := profile(os.Getenv("DEPLOYER_PROFILE"))
	code := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
