// Command deployer-keeper is the keeper that runs on masters; see package keeper. Its verbs node-* take a
// node out of service while its host goes down; see package reboot. deployer install puts it there.
//
//	deployer-keeper                    works until it is ended
//	deployer-keeper -check FILE        only checks the configuration in a file
//	deployer-keeper purge-node NAME    takes a node that is gone out of the cluster, now
//	deployer-keeper node-shutdown      cordons this host's node and evicts its pods with volumes, if the machine goes down
//	deployer-keeper node-start         uncordons the node when it is Ready, if node-shutdown has cordoned it
//	deployer-keeper node-check FILE    only checks the configuration of these in a file
//
// The exit code is 1 when the work failed, and 2 for wrong arguments or a wrong configuration.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"deployer/engine/agent"
	"deployer/keeper"
	"deployer/keeper/config"
	"deployer/keeper/reboot"
)

// version is set by the build.
var version = "devel"

// memoryLimit is the size of the heap, in bytes, from which on the collector works harder.
const memoryLimit = 32 << 20

// The exit codes.
const (
	exitFailed  = 1
	exitInvalid = 2
)

// errUsage is the error of wrong arguments.
var errUsage = errors.New("usage: deployer-keeper [-config FILE] [-check FILE] | deployer-keeper [-config FILE] purge-node [-force] NAME | deployer-keeper node-shutdown|node-start [-config FILE] | deployer-keeper node-check FILE")

func main() {
	path := flag.String("config", config.Path, "`file` with the configuration")
	state := flag.String("state-dir", agent.DefaultStateDir, "`directory` with the run lock of the host")
	check := flag.String("check", "", "only check the configuration in this `file`")
	flag.Parse()
	if *check != "" {
		_, err := config.Read(*check)
		end(err, exitInvalid)
	}
	debug.SetMemoryLimit(memoryLimit)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	k := keeper.New(keeper.Options{Config: *path, StateDir: *state, Version: version, Log: log})
	switch flag.Arg(0) {
	case "":
		end(k.Run(ctx), exitFailed)
	case "purge-node":
		own := flag.NewFlagSet("purge-node", flag.ExitOnError)
		force := own.Bool("force", false, "although the host of the node answers")
		_ = own.Parse(flag.Args()[1:]) // it exits
		if own.NArg() != 1 {
			end(errUsage, exitInvalid)
		}
		end(k.PurgeNode(ctx, own.Arg(0), *force), exitFailed)
	case "node-shutdown", "node-start", "node-check":
		code, err := node(ctx, flag.Args(), *state, log)
		end(err, code)
	}
	end(errUsage, exitInvalid)
}

// node executes the verbs of a node's own host. node-shutdown fails for its configuration only: a stop
// of the unit that fails changes nothing in a shutdown, and its next start clears the mark "failed", so
// that the journal is the only place where a person reads why pods stayed.
func node(ctx context.Context, args []string, stateDir string, log *slog.Logger) (code int, err error) {
	own := flag.NewFlagSet(args[0], flag.ExitOnError)
	path := own.String("config", reboot.Path, "`file` with the configuration of the node")
	_ = own.Parse(args[1:]) // it exits
	if args[0] == "node-check" {
		_, err := reboot.ReadConfig(own.Arg(0))
		return exitInvalid, err
	}
	if own.NArg() != 0 {
		return exitInvalid, errUsage
	}
	host, err := reboot.New(reboot.Options{Config: *path, StateDir: stateDir, Log: log})
	if err != nil {
		return exitInvalid, err
	}
	if args[0] == "node-start" {
		return exitFailed, host.Start(ctx)
	}
	if err := host.Shutdown(ctx); err != nil {
		log.Error("the shutdown goes on", "error", err)
	}
	return 0, nil
}

// end ends the program: with the code when there is an error.
func end(err error, code int) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}
