package prober

import (
	"testing"
	"time"
)

func TestParsePressure(t *testing.T) {
	got, ok := parsePressure("some avg10=95.05 avg60=95.20 avg300=95.12 total=22840566554\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	if want := 22840566554 * time.Microsecond; !ok || got != want {
		t.Errorf("%s, %t; want %s", got, ok, want)
	}
	if got, ok := parsePressure("full avg10=0.00"); ok {
		t.Errorf("%s of a file without the line", got)
	}
}
