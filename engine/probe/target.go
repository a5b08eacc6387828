// Package probe is a small HTTP service that tests a network from the place where it
// runs: `deployer verify` starts it in pods and requests checks of other pods,
// services and names. The service is part of the agent program, so the image of such a pod is
// one file.
//
//	GET  /ok        200 "ok"
//	GET  /hostname  the name of the pod
//	POST /check     a Request as JSON, answered by a Response
//
// Next to tests in the same pod it gives out their results instead, see [ResultsHandler].
package probe

import (
	"errors"
	"fmt"
	"time"
)

// Request lists targets, which are checked in parallel.
type Request struct {
	Targets []Target `json:"targets"`
}

// Target is one address or name to check.
type Target struct {
	// Kind is tcp, http, https or dns.
	Kind string `json:"kind"`
	// Address is host:port for tcp and a URL for http and https.
	Address string `json:"address,omitempty"`
	// Name is the name to look up for dns, and the Host header for http and
	// https when it is not that of the URL.
	Name string `json:"name,omitempty"`
	// Family is ipv4 or ipv6 for dns, when the name must have an address of it; any when empty.
	Family string `json:"family,omitempty"`
	// Server is the resolver for dns (port 53 unless given; the one of
	// resolv.conf when empty), and the expected name in the certificate for
	// https (that of the URL when empty).
	Server string `json:"server,omitempty"`
	// CA has PEM certificates to verify an https server with, in addition to the CAs of
	// the system and of the pod's service account.
	CA string `json:"ca,omitempty"`
	// Timeout is a duration as "2s"; DefaultTimeout when empty, MaxTimeout at
	// most.
	Timeout string `json:"timeout,omitempty"`
}

// Values of Target.Family.
const (
	FamilyIPv4 = "ipv4"
	FamilyIPv6 = "ipv6"
)

// Limits of a request.
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

// Result is the outcome of one target.
type Result struct {
	OK bool `json:"ok"`
	// Detail is the finding, or the reason when OK is false.
	Detail string `json:"detail"`
	// Elapsed is a duration as "1.5ms".
	Elapsed string `json:"elapsed"`
}

// timeout parses the target's timeout and checks its limits.
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
			return fmt.Errorf("target of kind %s: address is missing", t.Kind)
		}
	case "dns":
		if t.Name == "" {
			return errors.New("target of kind dns: name is missing")
		}
	default:
		return fmt.Errorf("unknown kind %q: want tcp, http, https or dns", t.Kind)
	}
	_, err := t.timeout()
	return err
}
