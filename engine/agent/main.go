package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"deployer/engine"
	"deployer/engine/protocol"
)

// Main is the agent program on a host. Its arguments are one of
//
//	serve [--state-dir DIR]   serve the controller on in and out
//	expire [--state-dir DIR]  remove expired backups of secrets
//	digest FILE               print the SHA-256 of a file
//
// Main returns the exit status: 0 after a good-bye of the controller, 1 when the
// controller was lost or something failed, 2 for wrong arguments.
func Main(args []string, in io.Reader, out, complaints io.Writer, registry engine.Registry) int {
	err := run(args, in, out, registry)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(complaints, "deployer-agent:", err)
	var usage *usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

type usageError struct{ reason string }

func (e *usageError) Error() string {
	return e.reason + "; only deployer starts this program"
}

func run(args []string, in io.Reader, out io.Writer, registry engine.Registry) error {
	if len(args) == 0 {
		return &usageError{"no command given"}
	}
	switch args[0] {
	case "serve":
		return serveProgram(args[1:], in, out, registry)
	case "expire":
		return expireProgram(args[1:], registry)
	case "digest":
		if len(args) != 2 {
			return &usageError{"digest takes a file"}
		}
		return printDigest(out, args[1])
	}
	return &usageError{fmt.Sprintf("unknown command %q", args[0])}
}

func serveProgram(args []string, in io.Reader, out io.Writer, registry engine.Registry) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	state := flags.String("state-dir", DefaultStateDir, "")
	if err := flags.Parse(args); err != nil {
		return &usageError{err.Error()}
	}
	// The shell of the probe set umask 077 for its own files; files of modules get
	// the usual one.
	syscall.Umask(0o022)
	// The user's home directory may be unmounted while a step runs.
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := os.Setenv("PATH", programPath(os.Geteuid(), os.Getenv("PATH"))); err != nil {
		return err
	}
	// The end of the connection must not kill the step in flight. SIGTERM cancels it: the
	// host is shutting down.
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	detachTerminal()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if _, err := fmt.Fprintf(out, "\n%s\n", protocol.Banner); err != nil {
		return err
	}
	if own, err := os.Executable(); err == nil {
		// Old binaries only take space; the next agent tries again.
		_ = removeOldBinaries(filepath.Dir(own), filepath.Base(own))
	}
	return Serve(ctx, in, out, registry, ServeOptions{StateDir: *state, WakeAt: wakeAt(*state)})
}

// systemPath lists the directories of programs that only root can write to.
var systemPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// programPath returns the PATH of an agent that runs as user uid. Root's does not
// depend on who logged in: su and some settings of sudo keep the PATH of the login
// user, whose directories others may write to. Other users keep theirs, with the
// directories of administrators' programs added, which the PATH of a plain user's
// session often lacks.
func programPath(uid int, inherited string) string {
	if uid == 0 {
		return strings.Join(systemPath, string(filepath.ListSeparator))
	}
	have := filepath.SplitList(inherited)
	for _, dir := range systemPath {
		found := false
		for _, h := range have {
			found = found || h == dir
		}
		if !found {
			have = append(have, dir)
		}
	}
	return strings.Join(have, string(filepath.ListSeparator))
}

// printDigest prints the SHA-256 of the program that was just received. The caller
// gives its path, as /proc/self/exe is the emulator when one runs the program.
func printDigest(out io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, hex.EncodeToString(h.Sum(nil)))
	return err
}
