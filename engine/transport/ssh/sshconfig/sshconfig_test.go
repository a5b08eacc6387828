package sshconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read parses a configuration in ~/.ssh, with files beside it.
func read(t *testing.T, text string, beside map[string]string) (*Config, error) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".ssh")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"config": text}
	for name, content := range beside {
		files[name] = content
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Read(Source{Path: filepath.Join(dir, "config"), Dir: dir, Home: home})
}

func TestWhatHoldsForAHost(t *testing.T) {
	for name, tt := range map[string]struct {
		config string
		files  map[string]string
		query  Query
		want   string // Port of the host
	}{
		"before any Host":                        {config: "Port 1\nHost a\nPort 2\n", want: "1"},
		"the first one wins":                     {config: "Host a\nPort 2\nHost *\nPort 3\n", want: "2"},
		"another host":                           {config: "Host b\nPort 2\nHost *\nPort 3\n", want: "3"},
		"several patterns":                       {config: "Host x\ty  a\nPort 2\n", want: "2"},
		"star":                                   {config: "Host *.example *a*\nPort 2\n", want: "2"},
		"question mark matches one character":    {config: "Host a?\nPort 2\nHost ?\nPort 3\n", want: "3"},
		"negated":                                {config: "Host * !a\nPort 2\nHost *\nPort 3\n", want: "3"},
		"a negated pattern alone does not match": {config: "Host !b\nPort 2\n", want: ""},
		"equals sign":                            {config: "Host=a\nPort = 2\n", want: "2"},
		"quotes":                                 {config: "Host \"a\"\nPort \"2\"\n", want: "2"},
		"keywords in any case":                   {config: "hOsT a\n  pORT 2\n", want: "2"},
		"comments":                               {config: "# Port 1\nHost a # b\n\tPort 2 # 3\n", want: "2"},
		"no line end":                            {config: "Host a\nPort 2", want: "2"},
		"carriage returns":                       {config: "Host a\r\nPort 2\r\n", want: "2"},
		"match all":                              {config: "Match all\nPort 2\n", want: "2"},
		"match host in a list":                   {config: "Match host b,a\nPort 2\n", want: "2"},
		"match host after HostName":              {config: "HostName real\nMatch host a\nPort 2\nMatch host real\nPort 3\n", want: "3"},
		"match originalhost":                     {config: "HostName real\nMatch originalhost a\nPort 2\n", want: "2"},
		"all criteria must hold":                 {config: "Match host a user ops\nPort 2\nMatch host a user root\nPort 3\n", want: "3"},
		"user of the inventory":                  {config: "User ops\nMatch user me\nPort 2\n", query: Query{User: "me"}, want: "2"},
		"user of the configuration":              {config: "User ops\nMatch user ops\nPort 2\n", want: "2"},
		"not user":                               {config: "Match host a !user root\nPort 2\nMatch !user nobody\nPort 3\n", want: "3"},
		"local user":                             {config: "Match localuser alice\nPort 2\n", want: "2"},
		"criterion with equals":                  {config: "Match host=a\nPort 2\n", want: "2"},
		"tagged":                                 {config: "Tag lab\nMatch tagged lab\nPort 2\n", want: "2"},
		"final":                                  {config: "Match final all\nPort 2\nHost a\nPort 3\n", want: "3"},
		"final alone":                            {config: "Match final\nPort 2\n", want: "2"},
		"exec after a criterion that does not hold":       {config: "Match host b exec \"false\"\nPort 2\nHost a\nPort 3\n", want: "3"},
		"exec inside of a Host block that does not match": {config: "Host b\nInclude other\nHost *\nPort 3\n", files: map[string]string{"other": "Match exec true\nPort 9\n"}, want: "3"},
		"include":                        {config: "Include oth*\nPort 9\n", files: map[string]string{"other": "Host a\nPort 2\n"}, want: "2"},
		"include ends its blocks":        {config: "Include other\nPort 9\n", files: map[string]string{"other": "Host b\nUser x\n"}, want: "9"},
		"include in a block":             {config: "Host b\nInclude other\n", files: map[string]string{"other": "Host a\nPort 2\n"}, want: ""},
		"include without matching files": {config: "Include none*\nPort 2\n", want: "2"},
		"include of home":                {config: "Include ~/.ssh/other\n", files: map[string]string{"other": "Port 2\n"}, want: "2"},
	} {
		c, err := read(t, tt.config, tt.files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tt.query.Host, tt.query.DefaultUser, tt.query.LocalUser = "a", "root", "alice"
		settings, err := c.For(tt.query)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := settings.First("Port").Text(); got != tt.want {
			t.Errorf("%s: got port %q, want %q", name, got, tt.want)
		}
	}
}

func TestValuesAddUpAndSayWhereTheyStand(t *testing.T) {
	c, err := read(t, "Host a\nIdentityFile one\nIdentityFile \"two words\" \nUserKnownHostsFile x 'y z'\nProxyCommand ssh -W \"%h:%p\" jump # not a comment\nProxyJump late\nMatch final\nIdentityFile one\nIdentityFile three\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.For(Query{Host: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, v := range s["identityfile"] {
		keys = append(keys, v.Text())
	}
	if diff := cmp.Diff([]string{"one", "two words", "three"}, keys); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x", "y z"}, s.First("userknownhostsfile").Args); diff != "" {
		t.Error(diff)
	}
	keyword, v := s.Earliest("proxyjump", "proxycommand")
	if keyword != "proxycommand" || v.Text() != `ssh -W "%h:%p" jump # not a comment` || !strings.HasSuffix(v.Pos.String(), "/.ssh/config:5") {
		t.Errorf("got %s %+v", keyword, v)
	}
}

func TestSystemConfigurationComesSecond(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"user": "Host b\nUser x\n", "system": "Port 2\nUser everybody\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(Source{Path: dir + "/none", Optional: true}, Source{Path: dir + "/user"}, Source{Path: dir + "/system"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"a": "everybody", "b": "x"} {
		s, err := c.For(Query{Host: host})
		if err != nil || s.First("user").Text() != want || s.First("port").Text() != "2" {
			t.Errorf("%s: got %v, %v", host, s, err)
		}
	}
}

func TestErrorsNameTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"Port\n":                              "config:1: Port has no value",
		"\nHost \"a\n":                        "config:2: a quotation mark is missing",
		"Include\n":                           "config:1: Include has no value",
		"Include config\n":                    "Include goes deeper than 16 files",
		"Match\n":                             "config:1: Match has no value",
		"Match host\n":                        "config:1: Match host has no value",
		"Match host a all\n":                  "config:1: Match all must stand alone",
		"Match all host a\n":                  "config:1: Match all must stand alone",
		"Match host a exec \"test -f x\"\n":   "config:1: Match exec is not supported here",
		"Match localnetwork 10.0.0.0/8\n":     "config:1: Match localnetwork is not supported; give ssh.config another file, or none",
		"Include [\n":                         "syntax error in pattern",
		"Host *\nMatch originalhost a exec x": "config:2: Match exec",
	} {
		c, err := read(t, text, nil)
		if err == nil {
			_, err = c.For(Query{Host: "a"})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := Read(Source{Path: "/nowhere/config"}); err == nil || !strings.Contains(err.Error(), "/nowhere/config") {
		t.Errorf("got %v", err)
	}
}

// TestMatchExec: a command runs only when the conditions before it on its line hold,
// and its tokens have the values known by then.
func TestMatchExec(t *testing.T) {
	for name, tt := range map[string]struct {
		config  string
		host    string
		want    string // Port of the host
		command string // that was run
	}{
		"command succeeds": {config: "Match exec \"yes %h %n %r %p %u %d\"\nPort 2\n", want: "2", command: "yes a a root 22 alice /home/alice"},
		"command fails":    {config: "Match exec no\nPort 2\nHost *\nPort 3\n", want: "3", command: "no"},
		"negated":          {config: "Match !exec no\nPort 2\n", want: "2", command: "no"},
		"tokens with the values before the Match": {config: "Host a\nHostName real\nUser ops\nPort 7\nMatch exec \"yes %h %r %p %% %k\"\nPort 2\n", want: "7", command: "yes real ops 7 % a"},
		"another host":                      {config: "Match host b exec yes\nPort 2\n"},
		"exec after a criterion that holds": {config: "Match host a exec yes\nPort 2\n", want: "2", command: "yes"},
	} {
		c, err := read(t, tt.config, nil)
		if err != nil {
			t.Fatal(err)
		}
		ran := ""
		s, err := c.For(Query{Host: "a", DefaultUser: "root", LocalUser: "alice", Home: "/home/alice", Exec: func(command string) (bool, error) {
			ran = command
			return strings.HasPrefix(command, "yes"), nil
		}})
		if err != nil || s.First("port").Text() != tt.want || ran != tt.command {
			t.Errorf("%s: port %q after %q, %v", name, s.First("port").Text(), ran, err)
		}
	}
	for text, want := range map[string]string{
		"Match exec fails\n":                    `config:1: Match exec "fails": no shell`,
		"Match exec \"x %q\"\n":                 `config:1: "x %q" has an unknown token`,
		"HostName \"a;b\"\nMatch exec \"x %h\"": `config:2: Match exec: "a;b" is not safe to put into a command`,
	} {
		c, err := read(t, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.For(Query{Host: "a", Exec: func(string) (bool, error) { return false, errors.New("no shell") }})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"?", "", false}, {"?", "a", true}, {"?", "ab", false},
		{"a*c", "abbbc", true}, {"a*c", "abbbd", false}, {"*a*b*", "xxaxxbxx", true}, {"*.example.com", "m1.example.com", true},
		{"*.example.com", "example.com", false}, {"10.0.0.?", "10.0.0.12", false}, {"**", "x", true}, {"a**", "a", true}, {"*aab", "aaaab", true},
	} {
		if got := matchPattern(tt.pattern, tt.s); got != tt.want {
			t.Errorf("%q against %q: %v", tt.pattern, tt.s, got)
		}
	}
}

// FuzzRead: any file is read or refused, in bounded time.
func FuzzRead(f *testing.F) {
	f.Add("Host a\nPort 22\nMatch final all\nUser x\n", "a")
	f.Add("Match host a*b*c* !user \"x y\" # c\nProxyCommand a \\\" b", "abc")
	f.Add("Host \"\\\"\\ \nx='", "")
	f.Add("Match host a !exec \"test -f %d/%h%%\" final\nTag x\nMatch tagged x,!y\nPort 1\nBindAddress ::1\n", "a")
	f.Add("Match canonical all\nMatch originalhost=a,!b localuser root\n\tHostName %h.%%\nProxyJump u@[::1]:2,ssh://x\n", "b")
	path := filepath.Join(f.TempDir(), "config")
	f.Fuzz(func(t *testing.T, text, host string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // reads other files
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Read(Source{Path: path})
		if err != nil {
			return
		}
		s, err := c.For(Query{Host: host, Exec: func(command string) (bool, error) { return len(command)%2 == 0, nil }})
		if err != nil {
			return
		}
		for keyword, values := range s {
			for _, v := range values {
				if keyword != order && (v.Pos.Line < 1 || len(v.Args) == 0) {
					t.Fatalf("%s: %+v", keyword, v)
				}
			}
		}
	})
}
