// Command deployer-keeper is the keeper that runs on masters; see package keeper. deployer install puts
// it there.
//
//	deployer-keeper                    works until it is ended
//	deployer-keeper -check FILE        only checks the configuration in a file
//	deployer-keeper purge-node NAME    takes a node that is gone out of the cluster, now
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
)

// version is set by the build.
var version = "devel"

// memoryLimit is the size of the heap, in bytes, from which on the collector works harder.
const memoryLimit = 40 << 20

// The exit codes.
const (
	exitFailed  = 1
	exitInvalid = 2
)

// errUsage is the error of wrong arguments.
var errUsage = errors.New("usage: deployer-keeper [-config FILE] [-check FILE] | deployer-keeper [-config FILE] purge-node [-force] NAME")

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
	k := keeper.New(keeper.Options{Config: *path, StateDir: *state, Version: version, Log: slog.New(slog.NewTextHandler(os.Stdout, nil))})
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
	}
	end(errUsage, exitInvalid)
}

// end ends the program: with the code when there is an error.
func end(err error, code int) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}
