package remote

import (
	"bufio"
	"errors"
	"strings"
)

// probeAnswers is what a host answered.
type probeAnswers struct {
	begun   bool   // the first marker was seen: as the login user
	inside  bool   // the second one: with the agent's privileges
	uid     string // of the login
	user    string // uid of the agent
	system  string // uname -sm
	dir     string // for the agent
	gzip    bool
	present bool
	missing bool
	tried   []string
	digest  string // of what was taken in, if it was wrong
	problem string // of error=
}

func (p *probeAnswers) arch() string {
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

var errNoise = errors.New("the host has printed more than a megabyte of other things; look at the start-up files of the user's shell")

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

func (p *probeAnswers) set(key, value string) {
	switch key {
	case "uid":
		p.uid = value
	case "user":
		p.user = value
	case "system":
		p.system = value
	case "dir":
		p.dir = value
	case "gzip":
		p.gzip = true
	case "agent":
		p.present, p.missing = value == "present", value == "missing"
	case "digest":
		p.digest = value
	case "tried":
		p.tried = append(p.tried, value)
	case "error":
		p.problem = value
	}
}
