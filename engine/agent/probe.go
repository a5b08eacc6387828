package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// probed is what a host answered.
type probed struct {
	uid       string // of the login
	system    string // uname -sm
	dir       string // for the agent
	gzip      bool
	present   bool
	sudoAsked bool
	sudoSays  string
	tried     []string
	stored    bool
	digest    string // of what was stored, if it was wrong
	problem   string // of error=
}

func (p *probed) arch() string {
	_, machine, _ := strings.Cut(p.system, " ")
	switch machine {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return machine
}

// maxNoise bounds what a host may say before the marker, in bytes.
const maxNoise = 1 << 20

// errNoAnswer says that the probe ended before it said what is to be known.
var errNoAnswer = errors.New("the host did not answer the probe")

// readProbe reads the probe's answers. Whatever comes before the line of the
// marker is dropped: banners, and what start-up files of the shell print. It
// returns when the agent is about to start, and when the probe has ended.
func readProbe(r *bufio.Reader, marker string) (*probed, error) {
	p := &probed{}
	started, noise := false, 0
	for {
		line, err := readLine(r)
		if err != nil {
			if errors.Is(err, io.EOF) && started && (p.problem != "" || p.dir != "" || p.stored) {
				return p, nil
			}
			return p, fmt.Errorf("%w (%w)", errNoAnswer, err)
		}
		if !started {
			started = line == marker
			if noise += len(line); noise > maxNoise {
				return p, fmt.Errorf("%w: it has printed more than %d bytes of other things; look at the start-up files of the user's shell", errNoAnswer, maxNoise)
			}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		p.set(key, value)
		if p.present {
			return p, nil
		}
	}
}

// maxLine bounds one line of the answers; longer ones are noise and are cut.
const maxLine = 4 << 10

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := maxLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.TrimRight(string(line), "\r\n"), err
	}
}

func (p *probed) set(key, value string) {
	switch key {
	case "uid":
		p.uid = value
	case "system":
		p.system = value
	case "dir":
		p.dir = value
	case "gzip":
		p.gzip = true
	case "agent":
		p.present = value == "present"
	case "sudo-asked":
		p.sudoAsked = true
	case "sudo":
		p.sudoSays += value + " "
	case "stored":
		p.stored = true
	case "digest":
		p.digest = value
	case "tried":
		p.tried = append(p.tried, value)
	case "error":
		p.problem = value
	}
}
