package noderenewal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitFailed  = 1
	exitInvalid = 2
)

// Main is the program on a node. Its arguments are one of
//
//	[-config FILE] [-state-dir DIR]   renew what is due
//	-check FILE                       only check the configuration in a file
//
// stateDir is the default of -state-dir. Main returns the exit code: 0, also when a run of deployer has the lock of
// the host, because the next call does the work; 1 after a failure, 2 for wrong arguments or a wrong configuration.
func Main(args []string, stateDir string, out, complaints io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	code, err := run(ctx, args, stateDir, out)
	if err != nil {
		_, _ = fmt.Fprintln(complaints, "deployer-agent certificates:", err)
	}
	return code
}

// errUsage is the error of wrong arguments.
var errUsage = errors.New("usage: deployer-agent certificates [-config FILE] [-state-dir DIR] | deployer-agent certificates -check FILE")

func run(ctx context.Context, args []string, stateDir string, out io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("certificates", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("config", Path, "")
	state := flags.String("state-dir", stateDir, "")
	check := flags.String("check", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return exitInvalid, errUsage
	}
	if *check != "" {
		if _, err := ReadConfig(*check); err != nil {
			return exitInvalid, err
		}
		return 0, nil
	}
	config, err := ReadConfig(*path)
	if err != nil {
		return exitInvalid, err
	}
	renewal, err := New(config, Options{StateDir: *state, Say: func(text string) { _, _ = fmt.Fprintln(out, text) }})
	if err == nil {
		err = renewal.Run(ctx)
	}
	switch {
	case isHeld(err):
		_, _ = fmt.Fprintln(out, "nothing was changed:", err)
		return 0, nil
	case err != nil:
		return exitFailed, err
	}
	return 0, nil
}
