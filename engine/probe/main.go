package probe

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"syscall"
)

// Main is the program in a pod. Its arguments are one of
//
//	serve [--listen ADDRESS]         the HTTP service, by default on :8080
//	results [--listen ADDRESS] DIR   the service of test results, see [ResultsHandler]
//	hold                             wait for SIGTERM
//
// Main returns the exit status: 0, 1 after a failure, 2 for wrong arguments.
func Main(args []string, complaints io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := run(ctx, args)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(complaints, "deployer-agent probe:", err)
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

var errUsage = errors.New("usage: deployer-agent probe serve [--listen :8080] | results [--listen :8080] DIR | hold")

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "serve", "results":
		flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		listen := flags.String("listen", ":8080", "")
		err := flags.Parse(args[1:])
		switch {
		case err == nil && args[0] == "serve" && flags.NArg() == 0:
			return Serve(ctx, *listen, Handler())
		case err == nil && args[0] == "results" && flags.NArg() == 1:
			return Serve(ctx, *listen, ResultsHandler(flags.Arg(0)))
		}
		return errUsage
	case "hold":
		<-ctx.Done()
		return nil
	}
	return errUsage
}
