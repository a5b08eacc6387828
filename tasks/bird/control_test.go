package bird

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serve answers commands on a control socket as BIRD does, with the lines of a table; with none it
// closes the connection.
func serve(t *testing.T, socket string, table func() string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			answer(conn, table())
		}
	}()
}

func answer(conn net.Conn, table string) {
	defer func() { _ = conn.Close() }()
	if table == "" {
		return
	}
	fmt.Fprint(conn, "0001 BIRD 2.0.12 ready.\n")
	if command, err := bufio.NewReader(conn).ReadString('\n'); err != nil || command != "show protocols\n" {
		fmt.Fprintf(conn, "9001 syntax error: %s\n", strings.TrimSpace(command))
		return
	}
	code := "2002-"
	for line := range strings.Lines(table) {
		fmt.Fprint(conn, code, line)
		if code = " "; strings.HasPrefix(line, "Name") {
			code = "1002-"
		}
	}
	fmt.Fprint(conn, "0000 \n")
}

func TestAsk(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "bird.ctl")
	serve(t, socket, func() string { return "Name Proto\nto_m1 BGP\nto_m2 BGP\n" })
	got, err := ask(t.Context(), socket, "show protocols")
	if diff := cmp.Diff([]string{"Name Proto", "to_m1 BGP", "to_m2 BGP"}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := ask(t.Context(), socket, "show all"); err == nil || !strings.Contains(err.Error(), "syntax error: show all") {
		t.Errorf("a command that is none: %v", err)
	}
	if _, err := ask(t.Context(), socket+".none", "show protocols"); err == nil {
		t.Error("a socket that does not exist answers")
	}
}

// FuzzAnswers reads answers of a BIRD that may be anything.
func FuzzAnswers(f *testing.F) {
	f.Add("1002-a\n b\n0000 \n")
	f.Add("9001 no\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := (&answers{lines: bufio.NewScanner(strings.NewReader(text))}).next()
		if err == nil && !strings.Contains(text, " ") {
			t.Errorf("an answer without a last line: %q", lines)
		}
		parseSessions(lines)
	})
}
