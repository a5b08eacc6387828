package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/engine/schedule"
	"deployer/engine/transport"
	"deployer/runs/target"
)

// debugEndWait is the time that an interrupted host has to clean up before its connection is
// closed.
const debugEndWait = 10 * time.Second

// debugCommands runs lines as root on hosts in parallel and returns the result of each. An
// interrupt ends the lines everywhere; the hosts notice the end of the connection.
func debugCommands(ctx context.Context, connector *target.Connector, hosts []string, lines string, parallel int) map[string]execResult {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if parallel <= 0 {
		parallel = schedule.DefaultForks
	}
	var mu sync.Mutex
	out := map[string]execResult{}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, host := range hosts {
		group.Go(func() error {
			result := debugCommand(ctx, connector, host, lines)
			mu.Lock()
			defer mu.Unlock()
			out[host] = result
			return nil
		})
	}
	_ = group.Wait() // every host has a result
	return out
}

// debugCommand runs lines as root on one host.
func debugCommand(ctx context.Context, connector *target.Connector, host, lines string) execResult {
	fail := func(err error) execResult {
		status := engine.StatusFailed
		var broken *transport.Error
		switch {
		case ctx.Err() != nil:
			status, err = engine.StatusCancelled, errors.New("interrupted")
		case errors.As(err, &broken):
			status = engine.StatusUnreachable
		}
		return execResult{Host: host, Status: status, Message: err.Error()}
	}
	if ctx.Err() != nil {
		return fail(ctx.Err())
	}
	program, err := connector.StartAsRoot(ctx, host, lines, false)
	if err != nil {
		return fail(err)
	}
	// The lines clean up and end with their input; on a terminal, which some methods to become
	// root need, they see the end of the connection only.
	defer context.AfterFunc(ctx, func() {
		_ = program.Stdin().Close()
		time.Sleep(debugEndWait)
		_ = program.Close()
	})()
	defer program.Close()
	stdout, err := readOutput(program.Stdout())
	if err != nil {
		return fail(err)
	}
	exit, err := program.Wait()
	if err != nil || ctx.Err() != nil {
		return fail(err)
	}
	result := execResult{Host: host, Status: engine.StatusOK, RC: &exit.Code, Stdout: stdout, Stderr: sanitize.Text(exit.Stderr)}
	if exit.Code != 0 {
		result.Status = engine.StatusFailed
	}
	return result
}

// readOutput reads to the end and returns the first engine.DefaultMaxOutput bytes, the limit
// of exec too, as text.
func readOutput(r io.Reader) (string, error) {
	var text strings.Builder
	if _, err := io.Copy(&text, io.LimitReader(r, engine.DefaultMaxOutput)); err != nil {
		return "", err
	}
	rest, err := io.Copy(io.Discard, r)
	if rest > 0 {
		text.WriteString("\n[... the rest is left out: more than 1 MiB]\n")
	}
	return sanitize.Text(text.String()), err
}
