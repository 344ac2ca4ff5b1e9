package ingest

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock lets a process give up access to files for itself and for the programs that replace it.
// It is part of Linux since 5.13. The kernel's userspace-api/landlock documents what each version
// can restrict.
const (
	landlockWrites = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	landlockRead     = unix.LANDLOCK_ACCESS_FS_READ_FILE
	landlockReadTree = landlockRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockRun      = landlockRead | unix.LANDLOCK_ACCESS_FS_EXECUTE

	landlockRulePath = 1 // LANDLOCK_RULE_PATH_BENEATH
)

// libraryTrees are the directories of shared libraries. They hold no secrets.
var libraryTrees = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", "/nix/store"}

// landlockVersion returns the version of this kernel's Landlock, or an error if this process cannot
// use it.
func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return int(version), errnoOf("Landlock", errno)
}

// fileRulesMissing returns why another program's access to files cannot be restricted, or nil.
func fileRulesMissing() error {
	_, err := landlockVersion()
	return err
}

// restrictFiles gives up, for this thread and the program that replaces it, access to all files
// except for those that the program needs to run and its input.
func restrictFiles(files foreignFiles) error {
	version, err := landlockVersion()
	if err != nil {
		return err
	}
	handled := rightsOf(version)
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), rulesetSize(version), 0)
	if errno != 0 {
		return errnoOf("restrict files", errno)
	}
	defer unix.Close(int(ruleset))
	if err := allowFiles(int(ruleset), files); err != nil {
		return err
	}
	if err := giveUpPrivileges(); err != nil {
		return err
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0)
	return errnoOf("restrict files", errno)
}

// rightsOf returns all rights that a version can restrict.
func rightsOf(version int) (rights unix.LandlockRulesetAttr) {
	rights.Handled_access_fs = landlockWrites | landlockReadTree | landlockRun
	if version >= 2 {
		rights.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rights.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		rights.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		rights.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		rights.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return rights
}

// rulesetSize returns how much of the structure a version knows.
func rulesetSize(version int) uintptr {
	var rights unix.LandlockRulesetAttr
	switch {
	case version < 4:
		return unsafe.Offsetof(rights.Handled_access_net)
	case version < 6:
		return unsafe.Offsetof(rights.Scoped)
	}
	return unsafe.Offsetof(rights.Scoped) + unsafe.Sizeof(rights.Scoped)
}

func allowFiles(ruleset int, files foreignFiles) error {
	allowed := map[string]uint64{files.program: landlockRun, "/etc/ld.so.cache": landlockRead}
	for _, tree := range append(libraryTrees, filepath.Join(filepath.Dir(files.program), "../lib")) {
		allowed[tree] = landlockReadTree
	}
	if files.loader != "" {
		allowed[files.loader] = landlockRun
	}
	if files.input != "" {
		allowed[files.input] = landlockRead
	}
	for path, access := range allowed {
		err := allowPath(ruleset, path, access)
		if err != nil && (path == files.program || path == files.input || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("allow access to %s: %w", path, err)
		}
	}
	return nil
}

func allowPath(ruleset int, path string, access uint64) error {
	file, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(file)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), landlockRulePath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// loaderOf returns the loader of a dynamically linked program, or an empty string for a static one.
func loaderOf(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for _, header := range file.Progs {
		if header.Type == elf.PT_INTERP {
			path, err := io.ReadAll(io.LimitReader(header.Open(), unix.PathMax))
			return strings.TrimRight(string(path), "\x00"), err
		}
	}
	return "", nil
}
