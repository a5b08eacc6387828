// Command lookups resolves names again and again, as the programs of a pod do, and reports how many lookups
// have failed and how long the longest took.
//
// It reads the resolv.conf of its pod and follows it as Go programs do, one server after the other. It starts
// lookups of all names every 50 ms, whether earlier ones have ended or not, until the file STOP beside its output
// exists; then it writes the output and waits.
//
//	lookups OUTPUT NAME...  resolve again and again
//	lookups once NAME       print the addresses of a name
//	lookups servers         print the name servers of the pod
//	lookups hold            wait
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	interval = 50 * time.Millisecond
	timeout  = 12 * time.Second // two attempts of 5 s, as resolv.conf(5) has them, and some room
	slow     = time.Second
	maxFirst = 5 // errors that are reported
)

// report is what is known of the lookups of one name.
type report struct {
	Name      string   `json:"name"`
	Lookups   int      `json:"lookups"`
	Failed    int      `json:"failed"`
	Slow      int      `json:"slow"`       // lookups that took longer than a second
	LongestMS int64    `json:"longest_ms"` // of those that succeeded
	First     []string `json:"first"`      // the first failures
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "hold":
		wait()
	case len(os.Args) == 2 && os.Args[1] == "servers":
		servers()
		return
	case len(os.Args) == 3 && os.Args[1] == "once":
		once(os.Args[2])
		return
	case len(os.Args) < 3:
		fmt.Fprintln(os.Stderr, "usage: lookups OUTPUT NAME...")
		os.Exit(2)
	}
	output, names := os.Args[1], os.Args[2:]
	var mu sync.Mutex
	var running sync.WaitGroup
	reports := make([]report, len(names))
	for i, name := range names {
		reports[i].Name = name
	}
	resolver := &net.Resolver{PreferGo: true}
	lookup := func(r *report) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		_, err := resolver.LookupNetIP(ctx, "ip4", r.Name)
		took := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		r.Lookups++
		if err == nil {
			r.LongestMS = max(r.LongestMS, took.Milliseconds())
		} else {
			r.Failed++
			if len(r.First) < maxFirst {
				r.First = append(r.First, fmt.Sprintf("%s after %s: %v", began.UTC().Format("15:04:05.000"), took.Round(time.Millisecond), err))
			}
		}
		if took > slow {
			r.Slow++
		}
	}
	for range time.Tick(interval) {
		if _, err := os.Stat(filepath.Join(filepath.Dir(output), "STOP")); err == nil {
			break
		}
		for i := range reports {
			running.Go(func() { lookup(&reports[i]) })
		}
	}
	running.Wait()
	text, err := json.Marshal(reports)
	if err == nil {
		err = os.WriteFile(output+".tmp", text, 0o644) //nolint:gosec // read by the test
	}
	if err == nil {
		err = os.Rename(output+".tmp", output)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	wait()
}

// wait never returns; a select without cases would be a deadlock in a program with one goroutine.
func wait() {
	for {
		time.Sleep(time.Hour)
	}
}

// once prints the addresses of a name, or the error.
func once(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range found {
		fmt.Println(a)
	}
}

// servers prints the name servers of resolv.conf in one line.
func servers() {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		fmt.Println(err)
		return
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			list = append(list, f[1])
		}
	}
	fmt.Println(strings.Join(list, " "))
}
