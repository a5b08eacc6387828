package main

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"deployer/engine"
)

// lostAddresses keeps the output of the action etcd_addresses: why the members of etcd do not find
// each other. lostAddresses implements engine.Sink.
type lostAddresses struct {
	mu     sync.Mutex
	reason string
}

// Emit keeps the output of the action.
func (l *lostAddresses) Emit(e engine.Event) {
	reason, ok := e.ActionOutput()["reason"].(string)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reason = reason
}

var _ engine.Sink = (*lostAddresses)(nil)

// print prints what a dry run has found. Without a reason nothing has decided that the members
// can be readdressed, and print fails.
func (l *lostAddresses) print(w io.Writer, output string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reason == "":
		return errors.New("the check has not found out whether the members can be readdressed: look at the steps of this run with deployer runs show")
	case output == "json":
		return printJSON(w, map[string]string{"reason": l.reason})
	}
	_, err := fmt.Fprintf(w, "nothing was changed; etcd can be readdressed: %s\n", l.reason)
	return err
}
