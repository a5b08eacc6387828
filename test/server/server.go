// Package server starts servers of other projects for tests, such as a container registry or
// an object store. A server runs on a free port of loopback, or on an address of a lab, and
// ends with the test.
package server

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// startLimit is the time in which a server must answer.
const startLimit = 30 * time.Second

// FreeAddress returns an address of loopback with a port that is free at the call.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// Start starts the command that command returns and waits until answers returns nil. The
// command is killed when its context ends, which is at the end of the test. A failed test
// logs the output of the command; name names the server there.
func Start(t testing.TB, name string, command func(context.Context) *exec.Cmd, answers func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context())) // the test's context ends before its cleanups
	cmd := command(ctx)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() { _ = cmd.Wait() }) // Wait returns an error because the process was killed
	t.Cleanup(func() {
		stop()
		ended.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", name, log.String())
		}
	})
	for deadline := time.Now().Add(startLimit); ; time.Sleep(50 * time.Millisecond) {
		err := answers(ctx)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer: %v", name, err)
		}
	}
}

// Make runs a target of the Makefile and returns what it prints: the path of a program.
func Make(t testing.TB, target string) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("finding the module's directory: %v", err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", strings.TrimSpace(string(root)), target)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, stderr.String())
	}
	return strings.TrimSpace(stdout.String())
}
