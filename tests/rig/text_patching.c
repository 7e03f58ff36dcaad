/* The only program of a guest: toggles a static key while other processes keep the code busy that
 * the kernel patches for it. Prints DONE and powers off. toggles=N on the kernel's command line. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

int main(void)
{
	char line[4096] = "";
	const char *option;
	int console, file, toggles = 5000;

	mount("proc", "/proc", "proc", 0, 0);
	mount("dev", "/dev", "devtmpfs", 0, 0);
	console = open("/dev/console", O_RDWR);
	dup2(console, 1);
	file = open("/proc/cmdline", O_RDONLY);
	if (read(file, line, sizeof(line) - 1) > 0 && (option = strstr(line, "toggles=")))
		toggles = atoi(option + strlen("toggles="));
	for (int at = 0; at < 4; at++)
		if (!fork())
			for (;;) {
				sched_yield();
				usleep(50);
			}
	/* sched_schedstats guards the scheduler's statistics (kernel/sched/core.c). */
	file = open("/proc/sys/kernel/sched_schedstats", O_WRONLY);
	for (int at = 0; at < toggles; at++)
		if (pwrite(file, "1\n", 2, 0) != 2 || pwrite(file, "0\n", 2, 0) != 2) {
			puts("FAILED to toggle");
			break;
		}
	printf("DONE\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
}
