package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// installRow has the figures of a run of bench-fleet on a number of hosts.
type installRow struct {
	Hosts   int     `json:"hosts"`
	Wall    float64 `json:"wall_s"`
	RSS     float64 `json:"rss_mb"`
	Sent    float64 `json:"sent_mb"`
	Second  float64 `json:"second_s"` // a run without changes
	OneHost float64 `json:"one_host_s"`
	CPU     float64 `json:"cpu_s"`
}

// kargo are the times of Kargo's installations (Kubespray of October 2016) in minutes by the number of nodes
// (kubespray issue 478). "Results of measuring performance of Kargo" of OpenStack's performance
// documentation has 2049, 3922 and 13065 s for the last three.
var kargo = []struct{ hosts, minutes float64 }{{10, 15}, {50, 35}, {150, 65}, {350, 220}}

// readFleet reads the closing lines of bench-fleet, `fleet hosts=.. wall_s=.. ...`, from its output, and the end of
// its first line, which describes the machine.
func readFleet(r io.Reader) (rows []installRow, machine string, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		words, ok := strings.CutPrefix(lines.Text(), "fleet ")
		if _, after, first := strings.Cut(lines.Text(), "; "); first && machine == "" {
			machine = after
		}
		if !ok {
			continue
		}
		values := map[string]float64{}
		for _, word := range strings.Fields(words) {
			name, text, _ := strings.Cut(word, "=")
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, "", fmt.Errorf("figure %s of bench-fleet: %w", word, err)
			}
			values[name] = value
		}
		for _, name := range []string{"hosts", "wall_s", "rss_mb", "sent_mb", "second_s", "one_host_s", "cpu_s"} {
			if _, ok := values[name]; !ok {
				return nil, "", fmt.Errorf("the line of bench-fleet has no %s: %s", name, lines.Text())
			}
		}
		rows = append(rows, installRow{
			Hosts: int(values["hosts"]), Wall: values["wall_s"], RSS: values["rss_mb"], Sent: values["sent_mb"],
			Second: values["second_s"], OneHost: values["one_host_s"], CPU: values["cpu_s"],
		})
	}
	if len(rows) == 0 && lines.Err() == nil {
		return nil, "", fmt.Errorf("there is no closing line of bench-fleet")
	}
	return rows, machine, lines.Err()
}

// addFleet adds the figures of bench-fleet from a file with its output.
func (r *results) addFleet(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, machine, err := readFleet(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.Install, r.InstallMachine = rows, machine
	return nil
}
