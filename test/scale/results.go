package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
)

// results are the figures of the benchmark, as they are in its results file. Times are in seconds unless the name says otherwise.
type results struct {
	Runs           []runInfo      `json:"runs"`
	Proxy          []proxyRow     `json:"proxy,omitempty"`
	Inflight       []inflightRow  `json:"inflight,omitempty"`
	Restarts       []restartRow   `json:"restarts,omitempty"`
	Rack           *rackResult    `json:"rack,omitempty"`
	Leader         *leaderResult  `json:"leader,omitempty"`
	Keeper         []keeperResult `json:"keeper,omitempty"`
	Install        []installRow   `json:"install,omitempty"`
	InstallMachine string         `json:"install_machine,omitempty"`
}

// runInfo describes a run that measured some of the stages.
type runInfo struct {
	Nodes   int      `json:"nodes"`
	Pods    int      `json:"pods"`
	Stages  []string `json:"stages"`
	Machine string   `json:"machine"` // date, processors and load before the start
}

// addRun adds a run. It replaces one of as many nodes and the same stages.
func (r *results) addRun(run runInfo) {
	r.Runs = slices.DeleteFunc(r.Runs, func(old runInfo) bool { return old.Nodes == run.Nodes && slices.Equal(old.Stages, run.Stages) })
	r.Runs = append(r.Runs, run)
	slices.SortStableFunc(r.Runs, func(a, b runInfo) int { return a.Nodes - b.Nodes })
}

// pods returns the number of pods of the run that measured API proxies with a number of nodes.
func (r *results) pods(nodes int) int {
	for _, run := range r.Runs {
		if run.Nodes == nodes && slices.Contains(run.Stages, "proxy") {
			return run.Pods
		}
	}
	return 0
}

// readResults returns the results of a file; none when the file does not exist.
func readResults(path string) (*results, error) {
	r := &results{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(data, r)
}

func (r *results) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// addProxy replaces the rows of as many nodes.
func (r *results) addProxy(rows []proxyRow) {
	if len(rows) == 0 {
		return
	}
	r.Proxy = slices.DeleteFunc(r.Proxy, func(old proxyRow) bool { return old.Nodes == rows[0].Nodes })
	r.Proxy = append(r.Proxy, rows...)
	slices.SortStableFunc(r.Proxy, func(a, b proxyRow) int { return a.Nodes - b.Nodes })
}

// addKeeper replaces the row of as many nodes.
func (r *results) addKeeper(row *keeperResult) {
	if row == nil {
		return
	}
	r.Keeper = slices.DeleteFunc(r.Keeper, func(old keeperResult) bool { return old.Nodes == row.Nodes })
	r.Keeper = append(r.Keeper, *row)
	slices.SortStableFunc(r.Keeper, func(a, b keeperResult) int { return a.Nodes - b.Nodes })
}
