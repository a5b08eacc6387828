// Command deployer installs and runs highly available Kubernetes on hosts that
// have an operating system and sshd, and runs playbooks of your own.
//
// Exit codes are part of its interface; see exit.go.
package main

import (
	"context"
	"os"
	"runtime/debug"
)

// version is set by the Makefile.
var version = "devel"

// garbage is how much memory may be garbage, in percent of what is in use. With
// Go's own 100, a thousand hosts take a tenth more memory.
const garbage = 85

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	stop := profile(os.Getenv("DEPLOYER_PROFILE"))
	code := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
