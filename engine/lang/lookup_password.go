package lang

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Limits of passwords that are made; 20 is Ansible's default.
const (
	passwordLength  = 20
	longestPassword = 1024
)

// passwordFiles keeps two hosts from making the same file at once.
var passwordFiles sync.Mutex

// password returns the content of a file: a term is its path and the form of the
// password that is made when there is no such file, as in `secrets/db length=32
// chars=ascii_letters,digits`. The file gets mode 0600; a relative path counts from
// the directory of the playbook. A dry run makes it, too, so that the run that
// follows has the same.
func password(files *Files, term string) (string, error) {
	words := strings.Fields(term)
	if len(words) == 0 {
		return "", errors.New("name a file")
	}
	length, chars := passwordLength, passwordChars("ascii_letters,digits,.,-,_")
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "length":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > longestPassword {
				return "", fmt.Errorf("length=%s: want a number from 1 to %d", value, longestPassword)
			}
			length = n
		case "chars":
			chars = passwordChars(value)
		default:
			return "", fmt.Errorf("%s: a file may be followed by length=N and chars=ascii_letters,digits", name)
		}
	}
	file := words[0]
	if !filepath.IsAbs(file) {
		if files == nil || files.playbookDir == "" {
			return "", fmt.Errorf("%s: the playbook is not on disk; give the absolute path of the file", file)
		}
		file = filepath.Join(files.playbookDir, file)
	}
	if chars == "" || file == os.DevNull {
		return "", errors.New("chars must not be empty, and the file must not be /dev/null")
	}
	passwordFiles.Lock()
	defer passwordFiles.Unlock()
	data, err := os.ReadFile(file) //nolint:gosec // the author of the playbook names it
	if errors.Is(err, fs.ErrNotExist) {
		return makePassword(file, length, chars)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line, _, _ = strings.Cut(line, " salt=")
	return line, err
}

// passwordChars are the characters of a list of classes; a text that is no class
// stands for itself.
func passwordChars(list string) string {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	classes := map[string]string{"ascii_letters": lower + upper, "ascii_lowercase": lower, "ascii_uppercase": upper, "digits": digits,
		"hexdigits": digits + "abcdefABCDEF", "punctuation": "!#$%&()*+-./:;<=>?@[]^_{|}~"}
	var out strings.Builder
	for _, part := range strings.Split(list, ",") {
		if class, ok := classes[part]; ok {
			part = class
		}
		out.WriteString(part)
	}
	return out.String()
}

func makePassword(file string, length int, chars string) (string, error) {
	var b strings.Builder
	for range length {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(chars))))
		if err != nil {
			return "", err
		}
		b.WriteByte(chars[n.Int64()])
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the author of the playbook names it
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(b.String() + "\n")
	return b.String(), errors.Join(err, f.Sync(), f.Close())
}
