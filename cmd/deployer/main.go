// Command deployer installs and runs highly available Kubernetes on hosts that have
// an operating system and sshd, and runs playbooks of users.
//
// Exit codes are part of its interface; see exit_codes.go.
//
// The package holds one file for each verb and its output, and no rules of its own: a
// verb reads flags and prints, and package runs does the work. Therefore the package
// has more files than other packages.
package main

import (
	"context"
	"os"
	"runtime/debug"
)

// version is set by the Makefile.
var version = "devel"

// gcPercent is the GOGC of the process. With Go's default of 100, a run on a thousand
// hosts takes a tenth more memory.
const gcPercent = 85

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	stop := profile(os.Getenv("DEPLOYER_PROFILE"))
	code := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
