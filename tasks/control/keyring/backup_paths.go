package keyring

// BackupPaths returns the paths of the files that a backup of the keys has: those that
// masters keep, in the order in which a host must write them. The others follow from these.
func BackupPaths() []string { return keptPaths() }
