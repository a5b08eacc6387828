package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"deployer/test/bench/measure"
)

// processTime returns the process group and the processor time of a process from the content of its
// /proc/PID/stat (proc(5)): the fields pgrp, utime and stime are the 5th, 14th and 15th.
func processTime(stat string) (group int, used time.Duration, err error) {
	// The second field, the name of the program in parentheses, may contain spaces.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("%q is not the content of a stat file", stat)
	}
	var numbers [3]int64
	for i, field := range []string{fields[2], fields[11], fields[12]} {
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return int(numbers[0]), time.Duration(numbers[1]+numbers[2]) * time.Second / measure.UserHZ, nil
}

// groupTimes returns the processor time of all running processes by process group.
func groupTimes() (map[int]time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	times := map[int]time.Duration{}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		group, used, err := processTime(string(stat))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		times[group] += used
	}
	return times, nil
}

// processMemory returns the resident memory of a process, now and at most since its start, in MB (proc_pid_status(5):
// VmRSS and VmHWM, in KiB).
func processMemory(pid int) (now, most float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseMemory(string(text))
}

func parseMemory(status string) (now, most float64, err error) {
	for _, field := range []struct {
		name string
		into *float64
	}{{"VmRSS:", &now}, {"VmHWM:", &most}} {
		_, rest, ok := strings.Cut(status, field.name)
		words := strings.Fields(rest)
		if !ok || len(words) < 2 || words[1] != "kB" {
			return 0, 0, fmt.Errorf("%q has no %s", status, field.name)
		}
		kib, err := strconv.Atoi(words[0])
		if err != nil {
			return 0, 0, err
		}
		*field.into = float64(kib) / 1024
	}
	return now, most, nil
}
