// Package probe is a small HTTP service that tests a network from where it
// runs: deployer verify starts it in pods and asks it what it can reach. It is
// part of the agent program, so the image of such a pod is that one file.
//
//	GET  /ok        200 "ok"
//	GET  /hostname  the name of the pod
//	POST /check     a Request as JSON, answered by a Response
package probe

import (
	"errors"
	"fmt"
	"time"
)

// Request asks for targets to be tried, all at once.
type Request struct {
	Targets []Target `json:"targets"`
}

// Target is one thing to try.
type Target struct {
	// Kind is tcp, http, https or dns.
	Kind string `json:"kind"`
	// Address is host:port for tcp and a URL for http and https.
	Address string `json:"address,omitempty"`
	// Name is the name to look up for dns, and the Host header for http and
	// https when it is not that of the URL.
	Name string `json:"name,omitempty"`
	// Server is the resolver for dns (port 53 unless given; the one of
	// resolv.conf when empty), and the expected name in the certificate for
	// https (that of the URL when empty).
	Server string `json:"server,omitempty"`
	// CA is PEM to verify an https server with, besides the system's
	// authorities and that of the pod's service account.
	CA string `json:"ca,omitempty"`
	// Timeout is a duration as "2s"; DefaultTimeout when empty, MaxTimeout at
	// most.
	Timeout string `json:"timeout,omitempty"`
}

// Bounds of a request.
const (
	DefaultTimeout = 2 * time.Second
	MaxTimeout     = 30 * time.Second
	MaxTargets     = 2000
)

// Response has one result for each target, in order.
type Response struct {
	Host    string   `json:"host"` // the name of the pod that answers
	Results []Result `json:"results"`
}

// Result is what became of one target.
type Result struct {
	OK bool `json:"ok"`
	// Detail says what was found, or why it is not OK.
	Detail string `json:"detail"`
	// Elapsed is a duration as "1.5ms".
	Elapsed string `json:"elapsed"`
}

// timeout parses and bounds the target's timeout.
func (t Target) timeout() (time.Duration, error) {
	if t.Timeout == "" {
		return DefaultTimeout, nil
	}
	d, err := time.ParseDuration(t.Timeout)
	if err != nil {
		return 0, fmt.Errorf("timeout: %w", err)
	}
	if d <= 0 || d > MaxTimeout {
		return 0, fmt.Errorf("timeout %v is not between 0 and %v", d, MaxTimeout)
	}
	return d, nil
}

func (t Target) validate() error {
	switch t.Kind {
	case "tcp", "http", "https":
		if t.Address == "" {
			return fmt.Errorf("a target of kind %s needs an address", t.Kind)
		}
	case "dns":
		if t.Name == "" {
			return errors.New("a target of kind dns needs a name")
		}
	default:
		return fmt.Errorf("kind %q is none of tcp, http, https and dns", t.Kind)
	}
	_, err := t.timeout()
	return err
}
