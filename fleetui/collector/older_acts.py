"""Read an older part of a log, because somebody asked for it."""

from fleetui.collector.acts import Course, Tools, done, failed, refused
from fleetui.collector.older_logs import OlderLogError
from fleetui.domain.intent import Intent


async def read_older(intent: Intent, tools: Tools) -> Course:
    """Store the next older part of the file that the argument names."""
    if not intent.argument:
        return refused("nothing was done: it needs the path of a log")
    try:
        return done(await tools.older_logs.fetch(intent.instance_id, intent.argument))
    except OlderLogError as error:
        return failed(str(error))


async def check_older(intent: Intent, tools: Tools) -> Course:
    """Tell of a fetch that an earlier run began; asking again does no harm."""
    del intent, tools
    return failed("the collector ended while at it; ask again")
