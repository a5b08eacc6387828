package importer

// Note describes a setting that was left out or changed.
type Note struct {
	At   string // the place of the setting, "hosts.ini:12"; empty when it has none
	What string // the setting
	Why  string // the reason, or advice
}

// String returns the note on one line.
func (n Note) String() string {
	text := n.What + ": " + n.Why
	if n.At != "" {
		return n.At + ": " + text
	}
	return text
}
