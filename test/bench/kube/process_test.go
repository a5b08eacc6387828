package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	p, err := Start(t.TempDir(), "shell", "/bin/sh", "-c", "echo began; exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ended(); err != nil {
		t.Errorf("a running program: %v", err)
	}
	p.Stop()
	if err := p.Ended(); err == nil || !strings.Contains(err.Error(), "shell: it has ended") {
		t.Errorf("a stopped program: %v", err)
	}
}

func TestAwaitReportsTheLogOfAProgramThatEnds(t *testing.T) {
	p, err := Start(t.TempDir(), "shell", "/bin/sh", "-c", "echo no such flag; exit 2")
	if err != nil {
		t.Fatal(err)
	}
	err = p.Await(t.Context(), time.Minute, func(context.Context) error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("got %v, want the log", err)
	}
}

func TestKill(t *testing.T) {
	p, err := Start(t.TempDir(), "shell", "/bin/sh", "-c", "trap '' TERM; sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if p.Ended() == nil {
		t.Error("a killed program runs")
	}
}
