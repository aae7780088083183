#!/usr/bin/python3
"""A port of loopback that leads to a server's socket, until it is killed.
usage: port.py SOCKET FILE     FILE is where the port is written"""
import asyncio
import os
import sys


async def pump(reader, writer):
    while part := await reader.read(65536):
        writer.write(part)
        await writer.drain()
    writer.close()


async def lead(reader, writer):
    try:
        to_reader, to_writer = await asyncio.open_unix_connection(sys.argv[1])
        await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer))
    except OSError:
        writer.close()


async def main():
    server = await asyncio.start_server(lead, "127.0.0.1", 0)
    with open(sys.argv[2] + ".new", "w", encoding="ascii") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    os.replace(sys.argv[2] + ".new", sys.argv[2])
    await server.serve_forever()


asyncio.run(main())
