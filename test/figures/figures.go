// Package figures collects what tests of several packages have measured, for one closing line. Tests append
// records to the file that an environment variable names, one JSON object a line; the program closingline
// reads it when the last package has ended. Without the variable nothing is recorded.
package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// Variable is the environment variable with the path of the file.
const Variable = "DEPLOYER_FIGURES"

// Figures that several packages or scenarios know.
const (
	Pings         = "pings" // packets to pods
	Lost          = "lost"  // packets that were not answered
	VIPFailover   = "vip_failover_s"
	DeadMaster    = "dead_master_s" // until the last connection through the API proxy left a master that vanished
	IdleWatch     = "idle_watch_s"  // for which a watch without events lived
	Conformance   = "conformance_tests"
	NonConforming = "conformance_failed"
	scenarioBegun = "scenario_begun"  // always 1
	scenarioPass  = "scenario_passed" // always 1
)

// record is a line of the file.
type record struct {
	Figure string  `json:"figure"`
	Value  float64 `json:"value"`
}

// Scenario counts a test now, and as passed when it ends without a failure. A test whose process dies has
// begun and not passed.
func Scenario(t *testing.T) {
	t.Helper()
	Record(scenarioBegun, 1)
	t.Cleanup(func() {
		if !t.Failed() && !t.Skipped() {
			Record(scenarioPass, 1)
		}
	})
}

// Record appends a figure. It panics when the file cannot be written: the closing line would lack it.
func Record(figure string, value float64) {
	path := os.Getenv(Variable)
	if path == "" {
		return
	}
	if err := appendTo(path, record{figure, value}); err != nil {
		panic(fmt.Sprintf("recording the figure %s: %v", figure, err))
	}
}

func appendTo(path string, r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if failed := f.Close(); err == nil {
		err = failed
	}
	return err
}
