package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSite: a node that joins a mesh changes every configuration, and one that joins a cluster whose masters
// reflect changes those of its reflectors only.
func TestSite(t *testing.T) {
	t.Parallel()
	for reflectors, want := range map[int]struct{ sessions, changed int }{0: {66, 11}, 2: {21, 2}, 3: {21, 2}} {
		before, err := newSite(11, reflectors)
		if err != nil {
			t.Fatal(err)
		}
		after, err := newSite(12, reflectors)
		if err != nil {
			t.Fatal(err)
		}
		if got := after.sessions(); got != want.sessions {
			t.Errorf("%s: %d sessions, want %d", topology(reflectors), got, want.sessions)
		}
		changed := 0
		for _, name := range before.cluster.NodeNames {
			old, err := before.conf(name, "/tmp/password.conf")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(old, `include "/tmp/password.conf";`) || !strings.Contains(old, "route "+before.ranges[name].(string)+" unreachable;") {
				t.Fatalf("configuration of %s:\n%s", name, old)
			}
			if text, err := after.conf(name, "/tmp/password.conf"); err != nil || text != old {
				changed++
			}
		}
		if changed != want.changed {
			t.Errorf("%s: %d configurations change, want %d", topology(reflectors), changed, want.changed)
		}
	}
}

// message returns a message about the route to 10.1.2.0/24.
func message(kind uint16, protocol byte, attributes []byte) syscall.NetlinkMessage {
	data := make([]byte, unix.SizeofRtMsg)
	data[5] = protocol
	return syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: kind}, Data: append(data, attributes...)}
}

func TestRouteMessages(t *testing.T) {
	t.Parallel()
	to := []byte{8, 0, unix.RTA_DST, 0, 10, 1, 2, 0}
	for name, tt := range map[string]struct {
		message syscall.NetlinkMessage
		want    bool
	}{
		"a new route":              {message(unix.RTM_NEWROUTE, protocolBIRD, append([]byte{5, 0, unix.RTA_TABLE, 0, 254, 0, 0, 0}, to...)), true},
		"a removed route":          {message(unix.RTM_DELROUTE, protocolBIRD, to), true},
		"a route of the kernel":    {message(unix.RTM_NEWROUTE, unix.RTPROT_KERNEL, to), false},
		"a new address":            {message(unix.RTM_NEWADDR, protocolBIRD, to), false},
		"no destination":           {message(unix.RTM_NEWROUTE, protocolBIRD, nil), false},
		"an attribute without end": {message(unix.RTM_NEWROUTE, protocolBIRD, []byte{99, 0, unix.RTA_DST, 0}), false},
	} {
		if got, ok := birdRoute(tt.message); ok != tt.want || ok && got != "\x0a\x01\x02\x00" {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
}

func TestProcessFiles(t *testing.T) {
	t.Parallel()
	if cpu, err := parseCPU("184236203 188787268 503\n"); err != nil || cpu != 184236203*time.Nanosecond {
		t.Errorf("%s, %v", cpu, err)
	}
	if rss, err := parseRSS("Name:\tbird\nVmRSS:\t    5120 kB\nRssAnon:\t 1 kB\n"); err != nil || rss != 5120<<10 {
		t.Errorf("%d, %v", rss, err)
	}
	if _, err := parseRSS("Name:\tbird\n"); err == nil {
		t.Error("a status without VmRSS has one")
	}
}

func TestSummaryAndPlot(t *testing.T) {
	t.Parallel()
	all := []result{
		{speakers: 10, sessions: 55, join: time.Second, rss: 58e6},
		{speakers: 10, reflectors: 3, sessions: 20, join: 3 * time.Second, rss: 60e6},
		{speakers: 10, reflectors: 2, sessions: 19, join: 2 * time.Second, rss: 50e6},
		{speakers: 25, reflectors: 2},
	}
	const want = "bird speakers=10 mesh_sessions=55 reflector_sessions=19 mesh_join_s=1.0 reflector_join_s=2.0 mesh_rss_mb=58 reflector_rss_mb=50"
	if got := summary(all); len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	picture := plot(all)
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, picture)
		}
	}
	if n := strings.Count(picture, "<polyline"); n != 3*len(panels) || strings.Contains(picture, "NaN") {
		t.Errorf("%d lines in %d panels\n%s", n, len(panels), picture)
	}
}
