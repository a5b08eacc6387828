package imagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"deployer/images"
	"deployer/images/imagefile"
)

// ErrCannotRun says that this machine cannot run the programs of an image.
var ErrCannotRun = errors.New("this machine cannot run the image")

// Limits of one test: testTimeout for its end, runningFor until a program that must still
// run is killed.
const (
	testTimeout = time.Minute
	runningFor  = 2 * time.Second
)

// Result is the result of one test; Err is nil when it has passed.
type Result struct {
	Test imagefile.Test
	Err  error
}

// Run runs the tests in the image of an archive, each in a fresh container, and calls
// report after each. The error says why tests could not run; failed tests are no
// error.
func Run(ctx context.Context, archive string, tests []imagefile.Test, report func(Result)) error {
	img, err := images.OpenImage(archive)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	if err := runnable(config.Architecture); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "deployer-image-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unpack(img, filepath.Join(dir, "rootfs")); err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	for _, test := range tests {
		err := runTest(ctx, dir, config.Config, test)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		report(Result{test, err})
	}
	return nil
}

// runnable returns an error that wraps ErrCannotRun when programs of the architecture, or
// containers at all, cannot be run.
func runnable(arch string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: containers need root", ErrCannotRun)
	}
	if _, err := exec.LookPath("runc"); err != nil {
		return fmt.Errorf("%w: install Debian package runc", ErrCannotRun)
	}
	if arch == runtime.GOARCH {
		return nil
	}
	machine := map[string]string{"arm64": "aarch64", "amd64": "x86_64"}[arch]
	if _, err := os.Stat("/proc/sys/fs/binfmt_misc/qemu-" + machine); err != nil {
		return fmt.Errorf("%w: it is for %s, and the kernel has no emulator for that (Debian packages qemu-user-static and binfmt-support)", ErrCannotRun, arch)
	}
	return nil
}

func runTest(ctx context.Context, dir string, image v1.Config, test imagefile.Test) error {
	spec, err := json.Marshal(containerSpec(image, test))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), spec, 0o600); err != nil {
		return err
	}
	limit := testTimeout
	if test.StillRunning {
		limit = runningFor
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	id := "deployer-" + filepath.Base(dir)
	state := filepath.Join(dir, "state")
	cmd := exec.CommandContext(limited, "runc", "--root", state, "run", "--bundle", dir, id)
	// A container outlives a killed runc and holds the pipes of the output.
	cmd.Cancel = func() error {
		if err := exec.CommandContext(context.WithoutCancel(ctx), "runc", "--root", state, "kill", id, "KILL").Run(); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Run()
	// Usually the container no longer exists, so the error is ignored.
	_ = exec.CommandContext(context.WithoutCancel(ctx), "runc", "--root", state, "delete", "--force", id).Run()
	return judge(test, limited.Err() != nil, err, output.String())
}

// judge compares the end of a command with the expectation of the test.
func judge(test imagefile.Test, timedOut bool, err error, output string) error {
	output = strings.TrimSpace(output)
	code := 0
	var exit *exec.ExitError
	switch {
	case test.StillRunning && timedOut:
		return nil
	case timedOut:
		return fmt.Errorf("did not end within %s; output: %s", testTimeout, output)
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		return err
	}
	if test.StillRunning {
		return fmt.Errorf("ended with exit code %d, and must still run; output: %s", code, output)
	}
	if code != test.Exit {
		return fmt.Errorf("exit code %d, want %d; output: %s", code, test.Exit, output)
	}
	if !regexp.MustCompile(test.Output).MatchString(output) {
		return fmt.Errorf("output does not match %q: %s", test.Output, output)
	}
	return nil
}
